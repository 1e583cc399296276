/**
 * Maximum number of chunks before they are joined: each takes half a KiB of memory, and a hostile
 * server may send every byte as a chunk.
 */
const MAX_LOOSE = 1024

/**
 * Reads a body of at most `maxBytes`, counted while it streams, because an announced length cannot
 * be trusted. Null when it is longer; rejects when the body breaks off.
 */
export async function readBoundedBody(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array()
  const blocks: Uint8Array[] = []
  let loose: Uint8Array[] = []
  let received = 0
  // Leaving the loop early closes the connection, unless the body is complete.
  for await (const chunk of body) {
    received += chunk.byteLength
    if (received > maxBytes) return null
    loose.push(chunk)
    if (loose.length < MAX_LOOSE) continue
    blocks.push(Buffer.concat(loose))
    loose = []
  }
  return Buffer.concat([...blocks, ...loose])
}

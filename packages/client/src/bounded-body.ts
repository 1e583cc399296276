/**
 * Chunks put together at once: each takes half a KiB of memory however small it is, and a server
 * may send every byte as one.
 */
const MAX_LOOSE = 1024

/**
 * Reads a body of at most `maxBytes`, counted while it streams, so that no announced
 * length is believed. Null when it is longer; rejects when the body breaks off.
 */
export async function readBoundedBody(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array()
  const blocks: Uint8Array[] = []
  let loose: Uint8Array[] = []
  let received = 0
  // Leaving the loop early ends the connection, unless all of it has come.
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

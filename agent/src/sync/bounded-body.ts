/**
 * Reads a body of at most `maxBytes`, counted while it streams, so that no announced
 * length is believed. Null when it is longer; rejects when the body breaks off.
 */
export async function readBoundedBody(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let received = 0
  // Leaving the loop early ends the connection.
  for await (const chunk of body) {
    received += chunk.byteLength
    if (received > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

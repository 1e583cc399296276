/**
 * Reads a body of at most `maxBytes`, counted while it streams (after decompression), so that no
 * announced length is believed. Null when it is longer; rejects when the body breaks off.
 */
export async function readBoundedBody(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | null> {
  if (body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let received = 0
  // Leaving the loop early cancels the stream.
  for await (const chunk of body) {
    received += chunk.byteLength
    if (received > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

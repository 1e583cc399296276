/** One line of input without its line feed; null when it is longer than the limit. */
export type Line = Buffer | null

/**
 * Splits bytes at line feeds and yields the lines that each chunk completes. Holds one chunk and at
 * most `maxBytes` bytes of an unfinished line; the rest of a longer line is discarded. Text after
 * the last line feed is a line unless it is empty.
 */
export async function* splitLines(
  source: AsyncIterable<Buffer | string>,
  maxBytes: number,
): AsyncGenerator<readonly Line[]> {
  let held: Buffer[] = []
  let heldBytes = 0
  const take = (part: Buffer): void => {
    heldBytes += part.byteLength
    if (heldBytes <= maxBytes) held.push(part)
    else held = []
  }
  const finish = (): Line => {
    const line = heldBytes > maxBytes ? null : Buffer.concat(held)
    held = []
    heldBytes = 0
    return line
  }

  for await (const chunk of source) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    const lines: Line[] = []
    let start = 0
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
      take(bytes.subarray(start, end))
      lines.push(finish())
      start = end + 1
    }
    if (start < bytes.byteLength) take(bytes.subarray(start))
    yield lines
  }
  if (heldBytes > 0) yield [finish()]
}

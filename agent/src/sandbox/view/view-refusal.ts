const MAX_QUOTED_BYTES = 200

/**
 * The view cannot be made as policy demands, so the sandbox does not start. The message is for
 * people: it names the path, and the correction where one is known.
 */
export class ViewRefusal extends Error {
  override readonly name = 'ViewRefusal'
  readonly code = 'ERR_VIEW_REFUSED'

  constructor(problem: string, cause?: unknown) {
    super(problem, cause === undefined ? undefined : { cause })
  }
}

/**
 * Puts a path into back-ticks. Bytes that are not UTF-8, control characters and characters that
 * change the direction of text are escaped, so that a message stays one harmless line.
 */
export function quotePath(path: string | Buffer): string {
  const bytes = typeof path === 'string' ? Buffer.from(path) : path
  const isCut = bytes.length > MAX_QUOTED_BYTES
  const shown = isCut ? bytes.subarray(0, MAX_QUOTED_BYTES) : bytes
  const text = shown
    .toString('utf8')
    .replaceAll('\ufffd', isCut ? '' : '\ufffd')
    .replaceAll(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}`\\]/gu,
      (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
    )
  return `\`${hasInvalidBytes(bytes) ? escapeBytes(shown) : text}${isCut ? '…' : ''}\``
}

/** Whether a name cannot be written as text, so that no rule can name it. */
export function hasInvalidBytes(name: Buffer): boolean {
  return !Buffer.from(name.toString('utf8')).equals(name)
}

/** Every byte outside printable ASCII as `\xff`. */
function escapeBytes(bytes: Buffer): string {
  return Array.from(bytes, (byte) =>
    byte > 0x20 && byte < 0x7f && byte !== 0x5c && byte !== 0x60
      ? String.fromCodePoint(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('')
}

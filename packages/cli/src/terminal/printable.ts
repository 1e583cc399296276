/**
 * Characters that a terminal interprets or that reorder displayed text: controls (C0, DEL, C1),
 * format characters with bidirectional or invisible effect (Unicode TR 36 §2.10, CVE-2021-42574),
 * line and paragraph separators, and unpaired surrogates.
 */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** `text` with every active character written as `\u…`, safe to print within one line. */
export function printable(text: string): string {
  return text.replace(ACTIVE, escapeCharacter)
}

/**
 * `value` as one line of JSON. Active characters inside strings are written as `\u…`, which
 * JSON.stringify does for C0 only; the value is the same.
 */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replace(ACTIVE, escapeCharacter)}\n`
}

/** UTF-16 units, as JSON wants them. */
function escapeCharacter(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

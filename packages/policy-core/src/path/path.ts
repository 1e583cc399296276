import { parsed, refused, type Parsed } from '../result.ts'

/** Longest path in bytes of UTF-8, counted as it was received. */
export const MAX_PATH_BYTES = 4096
/** Most bytes of UTF-8 that a UTF-16 unit takes. */
const MAX_BYTES_OF_UNIT = 3

const DOT_SEGMENT = /\/(\.\.?)(?:\/|$)/

/**
 * Reads an absolute path: no empty, `.` or `..` segment, no NUL, well-formed, at most 4096 bytes;
 * one trailing `/` is dropped. The value is the canonical path.
 */
export function parsePath(text: string): Parsed<string> {
  if (!text.startsWith('/')) return refused('the path is not absolute; it must start with `/`')
  if (isTooLong(text)) return refused(`the path is longer than ${MAX_PATH_BYTES} bytes`)
  if (!text.isWellFormed()) return refused('the path contains an unpaired surrogate')
  if (text.includes('\0')) return refused('the path contains a NUL character')
  if (text.includes('//')) return refused('the path has an empty segment (`//`)')
  if (text === '/') return parsed(text)
  const path = text.endsWith('/') ? text.slice(0, -1) : text
  const dots = DOT_SEGMENT.exec(path)?.[1]
  if (dots !== undefined) return refused(`the path has a \`${dots}\` segment; resolve it first`)
  return parsed(path)
}

/** The segments of a canonical path; empty for `/`. */
export function segmentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

/**
 * Where simple case folding differs from upper and then lower case: ı does not become i, and three
 * pairs.
 */
const FOLDS_APART: ReadonlyMap<string, string> = new Map([
  ['\u0131', '\u0131'],
  ['\u1fd3', '\u0390'],
  ['\u1fe3', '\u03b0'],
  ['\ufb05', '\ufb06'],
])

/**
 * Folds letter case for file systems that ignore it: Unicode's simple case folding, code point by
 * code point, so that ß stays ß and does not become SS.
 */
export function foldCase(text: string): string {
  // A fast path for nearly every text.
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase()
  return Array.from(text, foldCodePoint).join('')
}

function foldCodePoint(char: string): string {
  const apart = FOLDS_APART.get(char)
  if (apart !== undefined) return apart
  const upper = char.toUpperCase()
  const folded = [...upper].length === 1 ? upper.toLowerCase() : char.toLowerCase()
  return [...folded].length === 1 ? folded : char
}

/** The length alone tells of nearly every path, without a look at its characters. */
function isTooLong(text: string): boolean {
  if (text.length * MAX_BYTES_OF_UNIT <= MAX_PATH_BYTES) return false
  return text.length > MAX_PATH_BYTES || utf8Length(text) > MAX_PATH_BYTES
}

function utf8Length(text: string): number {
  let bytes = 0
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

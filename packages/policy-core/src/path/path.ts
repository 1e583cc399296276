import { parsed, refused, type Parsed } from '../result.ts'

/** Longest path in bytes of UTF-8, counted as it was received. */
export const MAX_PATH_BYTES = 4096

/**
 * Reads an absolute path: no empty, `.` or `..` segment, no NUL, well-formed, at most 4096 bytes;
 * one trailing `/` is dropped. The value is the canonical path.
 */
export function parsePath(text: string): Parsed<string> {
  if (!text.startsWith('/')) return refused('the path is not absolute; it must start with `/`')
  if (!text.isWellFormed()) return refused('the path contains an unpaired surrogate')
  if (text.includes('\0')) return refused('the path contains a NUL character')
  if (utf8Length(text) > MAX_PATH_BYTES)
    return refused(`the path is longer than ${MAX_PATH_BYTES} bytes`)
  if (text.includes('//')) return refused('the path has an empty segment (`//`)')
  if (text === '/') return parsed(text)
  const path = text.endsWith('/') ? text.slice(0, -1) : text
  for (const segment of segmentsOf(path)) {
    if (segment === '.' || segment === '..')
      return refused(`the path has a \`${segment}\` segment; resolve it first`)
  }
  return parsed(path)
}

/** The segments of a canonical path; none for `/`. */
export function segmentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}

/**
 * Folds letter case for file systems that ignore it, code point by code point, so that a name
 * never changes its length in code points (ß stays ß, it does not become SS).
 */
export function foldCase(text: string): string {
  return Array.from(text, (char) => {
    const upper = char.toUpperCase()
    const folded = [...upper].length === 1 ? upper.toLowerCase() : char.toLowerCase()
    return [...folded].length === 1 ? folded : char
  }).join('')
}

function utf8Length(text: string): number {
  let bytes = 0
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

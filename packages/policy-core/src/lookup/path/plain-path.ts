export const SLASH = 0x2f
const DOT = 0x2e

/** Maximum length of a path in UTF-16 units, which are bytes in plain text. */
export const MAX_PATH_LENGTH = 4096

/** A character that falls through to thorough parsing: non-ASCII, a control character, or `*`. */
export function isOdd(code: number): boolean {
  return code < 0x20 || code > 0x7e || code === 0x2a
}

/** Whether the path has only plain names from `from`, the start of a name, to its end. */
export function isPlainFrom(path: string, from: number): boolean {
  let start = from
  for (let at = from; at <= path.length; at += 1) {
    const code = at < path.length ? path.charCodeAt(at) : SLASH
    if (code === SLASH) {
      if (isNoName(path, start, at)) return false
      start = at + 1
    } else if (isOdd(code)) {
      return false
    }
  }
  return true
}

/** Whether the segment is empty, `.` or `..`. */
export function isNoName(path: string, from: number, to: number): boolean {
  return (
    to - from < 3 &&
    (to === from ||
      (path.charCodeAt(from) === DOT && (to - from === 1 || path.charCodeAt(from + 1) === DOT)))
  )
}

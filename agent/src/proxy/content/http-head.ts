/** The head of an HTTP/1 request. */
export interface HttpHead {
  readonly method: string
  readonly target: string
  readonly minorVersion: 0 | 1
  /** Alternating names and values, as `rawHeaders` of Node. */
  readonly rawHeaders: readonly string[]
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) HTTP\/1\.([01])$/
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Parses a whole head, with its empty line, in latin1. Stricter than RFC 9112: no bare CR or LF, no
 * folded field, one space between the parts of the first line, so that no other reader of the same
 * bytes can see another request. Returns null for anything else.
 */
export function parseHttpHead(text: string): HttpHead | null {
  if (!text.endsWith('\r\n\r\n')) return null
  const [first = '', ...lines] = text.slice(0, -4).split('\r\n')
  const request = REQUEST_LINE.exec(first)
  if (request === null) return null
  const rawHeaders: string[] = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0))
    const value = trimBlanks(line.slice(colon + 1))
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) return null
    rawHeaders.push(name, value)
  }
  const [, method = '', target = '', minor] = request
  return { method, target, minorVersion: minor === '0' ? 0 : 1, rawHeaders }
}

/** The fault of a head that `parseHttpHead` refuses, in a few words. */
export function findHeadFault(text: string): string {
  const [first = '', ...lines] = text.split('\r\n')
  if (/[\r\n]/.test(first) || lines.some((line) => /[\r\n]/.test(line)))
    return 'a line ends with CR or LF alone'
  if (!REQUEST_LINE.test(first)) return 'its first line is not `METHOD TARGET HTTP/1.1`'
  if (lines.some((line) => /^[ \t]/.test(line))) return 'a field is folded'
  if (lines.some((line) => /^[^:]*[ \t]:/.test(line))) return 'a blank stands before a colon'
  return 'a field has an invalid character'
}

/** `trim` would also remove U+00A0, which is part of a value. */
function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text, start)) start += 1
  while (end > start && isBlank(text, end - 1)) end -= 1
  return text.slice(start, end)
}

function isBlank(text: string, index: number): boolean {
  return text[index] === ' ' || text[index] === '\t'
}

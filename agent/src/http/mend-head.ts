import { METHODS } from 'node:http'

/** A request line that the parser of Node refuses, although programs send it. */
export interface WrittenLine {
  readonly method: string
  /** Each character stands for a byte. */
  readonly target: string
}

export interface MendedRequest {
  readonly head: Buffer
  readonly line: WrittenLine
}

const CR = 13
const ANSWER_START = 'HTTP/1.'

/** Any method, and a target with bytes above 0x7F, such as raw UTF-8. */
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) (HTTP\/1\.[01])$/
const TOKEN_START = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]/
const UPPER = /[\x80-\xff]/g
/** Stands for a method that Node does not know: its requests may have a body or none. */
const KNOWN_METHOD = 'POST'

/** Whether these first bytes may become a request that `mendRequest` reads. */
export function mayBeRequest(start: Buffer): boolean {
  const end = start.indexOf('\n')
  if (end < 0) return TOKEN_START.test(start.toString('latin1', 0, 1))
  return start[end - 1] === CR && REQUEST_LINE.test(start.toString('latin1', 0, end - 1))
}

/** Whether these first bytes may become an answer. */
export function mayBeAnswer(start: Buffer): boolean {
  return ANSWER_START.startsWith(start.toString('latin1', 0, ANSWER_START.length))
}

/**
 * Replaces the parts of a request line that the parser of Node refuses, and returns them. Null for
 * a line that the parser reads as it is, and for a malformed one.
 */
export function mendRequest(head: Buffer): MendedRequest | null {
  const end = head.indexOf('\r\n')
  const [, method, target, version] = REQUEST_LINE.exec(head.toString('latin1', 0, end)) ?? []
  if (method === undefined || target === undefined) return null
  const read = METHODS.includes(method) ? method : KNOWN_METHOD
  const plain = target.replaceAll(UPPER, '~')
  if (read === method && plain === target) return null
  const line = Buffer.from(`${read} ${plain} ${version}`, 'latin1')
  return { head: Buffer.concat([line, head.subarray(end)]), line: { method, target } }
}

const LENGTH_FIELD = /^content-length:(.*)$/i
const CODING_FIELD = /^transfer-encoding:/i

/**
 * Mends an answer as RFC 9112 asks a proxy to: joins folded fields (§5.2), drops the length beside
 * a transfer coding, and joins equal lengths (§6.3).
 */
export function mendAnswer(head: Buffer): Buffer {
  const text = head.toString('latin1')
  const isFolded = /[^\r\n]\r\n[ \t]/.test(text)
  const hasLengths = /\r\ncontent-length:/i.test(text)
  if (!isFolded && !hasLengths) return head
  const [first = '', ...fields] = text.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const lengths = fields.flatMap((field) => LENGTH_FIELD.exec(field)?.[1]?.split(',') ?? [])
  const distinct = new Set(lengths.map((length) => length.trim()))
  const isCoded = fields.some((field) => CODING_FIELD.test(field))
  if (!isFolded && !isCoded && lengths.length === 1) return head
  const others = fields.filter((field) => !LENGTH_FIELD.test(field))
  const [length = ''] = distinct
  if (isCoded) return format([first, ...others])
  if (distinct.size !== 1) return format([first, ...fields])
  return format([first, `Content-Length: ${length}`, ...others])
}

function format(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

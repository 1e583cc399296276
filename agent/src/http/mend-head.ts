import { METHODS } from 'node:http'
import { MAX_HEAD_BYTES } from './header-list.ts'

/** A request line that the parser of Node refuses, although programs send it. */
export interface WrittenLine {
  readonly method: string
  /** Each character stands for a byte. */
  readonly url: string
}

export interface MendedRequest {
  readonly bytes: Buffer
  /** Null where the parser reads the line as it was written. */
  readonly line: WrittenLine | null
}

const ANSWER_START = 'HTTP/1.'

/** Any method, and a target with bytes above 0x7F, such as raw UTF-8. */
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) (HTTP\/1\.[01]\r\n)$/
const TOKEN_START = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]/
const UPPER = /[\x80-\xff]/g
/** Stands for a method that Node does not know: its requests may have a body or none. */
const KNOWN_METHOD = 'POST'

/**
 * Replaces the parts of a request line that the parser of Node refuses. `received` begins with the
 * line. Returns null while the line is not complete; a malformed one stays as it is.
 */
export function mendRequest(received: Buffer): MendedRequest | null {
  const written = { bytes: received, line: null }
  if (!TOKEN_START.test(received.toString('latin1', 0, 1))) return written
  const end = received.indexOf('\n') + 1
  if (end === 0) return received.byteLength < MAX_HEAD_BYTES ? null : written
  const [, method, url, rest] = REQUEST_LINE.exec(received.toString('latin1', 0, end)) ?? []
  if (method === undefined || url === undefined) return written
  const read = METHODS.includes(method) ? method : KNOWN_METHOD
  const plain = url.replaceAll(UPPER, '~')
  if (read === method && plain === url) return written
  const line = Buffer.from(`${read} ${plain} ${rest}`, 'latin1')
  return { bytes: Buffer.concat([line, received.subarray(end)]), line: { method, url } }
}

const LENGTH_FIELD = /^content-length:(.*)$/i
const CODING_FIELD = /^transfer-encoding:/i
/** Also the end of a malformed head, so that it is refused at once. */
const HEAD_ENDS = ['\n\r\n', '\n\n']

/**
 * Mends the head of an answer. `received` begins with it. Returns null while it is not complete;
 * other bytes stay as they are.
 */
export function mendAnswer(received: Buffer): Buffer | null {
  const start = received.subarray(0, MAX_HEAD_BYTES)
  if (!ANSWER_START.startsWith(start.toString('latin1', 0, ANSWER_START.length))) return received
  const ends = HEAD_ENDS.map((end) => ({ at: start.indexOf(end), length: end.length }))
  const lengths = ends.filter(({ at }) => at >= 0).map(({ at, length }) => at + length)
  if (lengths.length === 0) return received.byteLength < MAX_HEAD_BYTES ? null : received
  const length = Math.min(...lengths)
  const mended = mendAnswerHead(start.toString('latin1', 0, length))
  return mended === null ? received : Buffer.concat([mended, received.subarray(length)])
}

/**
 * Mends as RFC 9112 asks a proxy to: joins folded fields (§5.2), drops the length beside a transfer
 * coding, and joins equal lengths (§6.3). Returns null for a head that stays as it is.
 */
function mendAnswerHead(text: string): Buffer | null {
  const isFolded = /[^\r\n]\r\n[ \t]/.test(text)
  const hasLengths = /\r\ncontent-length:/i.test(text)
  if (!isFolded && !hasLengths) return null
  const [first = '', ...fields] = text.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const lengths = fields.flatMap((field) => LENGTH_FIELD.exec(field)?.[1]?.split(',') ?? [])
  const distinct = new Set(lengths.map((length) => length.trim()))
  const isCoded = fields.some((field) => CODING_FIELD.test(field))
  if (!isFolded && !isCoded && lengths.length === 1) return null
  const others = fields.filter((field) => !LENGTH_FIELD.test(field))
  const [length = ''] = distinct
  if (isCoded) return format([first, ...others])
  if (distinct.size !== 1) return format([first, ...fields])
  return format([first, `Content-Length: ${length}`, ...others])
}

function format(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

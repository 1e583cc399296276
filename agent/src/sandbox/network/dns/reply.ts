import { HEADER_BYTES, MAX_QUERY_BYTES, RCODE, type QueryHead, type Rcode } from './query.ts'

export const TYPE = { a: 1, aaaa: 28 } as const

/** Programs must ask again soon, because the policy may change. */
const TTL_SECONDS = 5
const CLASS_IN = 1
/** The name of an answer is that of the question (RFC 1035 §4.1.4). */
const POINTER_TO_QUESTION = 0xc000 + HEADER_BYTES
const RESPONSE = 0x8000
const RECURSION_DESIRED = 0x0100
const RECURSION_AVAILABLE = 0x0080

/** The pseudo-record of RFC 6891 §6.1.2, which answers one of a query, up to its length. */
const OPT = Buffer.from([0, 0, 41, MAX_QUERY_BYTES >> 8, MAX_QUERY_BYTES & 0xff, 0, 0, 0, 0])

/** "Prohibited" of RFC 8914 §4.19, with a text for people. */
const PROHIBITED = formatOption(15, Buffer.from('\0\x12denied by policy; run: palisade why'))
const EMPTY = Buffer.alloc(0)

/**
 * Formats a reply with at most one record, whose `data` is the address of `type`. A name that does
 * not exist is one that policy denies, as an extended error says.
 */
export function formatReply(
  { id, isRecursionDesired, question, hasEdns }: QueryHead,
  rcode: Rcode,
  answer: { readonly type: number; readonly data: readonly number[] } | null = null,
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const desired = isRecursionDesired ? RECURSION_DESIRED : 0
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(RESPONSE | desired | RECURSION_AVAILABLE | rcode, 2)
  header.writeUInt16BE(question.length > 0 ? 1 : 0, 4)
  header.writeUInt16BE(answer === null ? 0 : 1, 6)
  header.writeUInt16BE(hasEdns ? 1 : 0, 10)
  const parts = [header, question]
  if (answer !== null) parts.push(formatRecord(answer.type, answer.data))
  if (hasEdns) parts.push(OPT, formatSized(rcode === RCODE.noName ? PROHIBITED : EMPTY))
  return Buffer.concat(parts)
}

function formatOption(code: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([code >> 8, code & 0xff]), formatSized(data)])
}

function formatSized(data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([data.length >> 8, data.length & 0xff]), data])
}

function formatRecord(type: number, data: readonly number[]): Buffer {
  const fixed = Buffer.alloc(12)
  fixed.writeUInt16BE(POINTER_TO_QUESTION, 0)
  fixed.writeUInt16BE(type, 2)
  fixed.writeUInt16BE(CLASS_IN, 4)
  fixed.writeUInt32BE(TTL_SECONDS, 6)
  fixed.writeUInt16BE(data.length, 10)
  return Buffer.concat([fixed, Buffer.from(data)])
}

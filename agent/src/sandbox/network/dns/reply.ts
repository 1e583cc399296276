import { HEADER_BYTES, MAX_QUERY_BYTES, RCODE, type QueryHead, type Rcode } from './query.ts'

export const TYPE = { a: 1, aaaa: 28, srv: 33 } as const

/** A record of the name of the question. */
export interface ReplyRecord {
  readonly type: number
  readonly data: readonly number[]
}

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
/** Length of an empty pseudo-record. */
const OPT_BYTES = OPT.length + 2

/**
 * Formats a reply with as many of the records as fit into a datagram. A name that does not exist is
 * one that policy denies, as an extended error says.
 */
export function formatReply(
  { id, isRecursionDesired, question, hasEdns }: QueryHead,
  rcode: Rcode,
  records: readonly ReplyRecord[] = [],
): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const desired = isRecursionDesired ? RECURSION_DESIRED : 0
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(RESPONSE | desired | RECURSION_AVAILABLE | rcode, 2)
  header.writeUInt16BE(question.length > 0 ? 1 : 0, 4)
  const answers = takeFitting(
    records,
    MAX_QUERY_BYTES - header.length - question.length - OPT_BYTES,
  )
  header.writeUInt16BE(answers.length, 6)
  header.writeUInt16BE(hasEdns ? 1 : 0, 10)
  const parts = [header, question, ...answers]
  if (hasEdns) parts.push(OPT, formatSized(rcode === RCODE.noName ? PROHIBITED : EMPTY))
  return Buffer.concat(parts)
}

function formatOption(code: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([code >> 8, code & 0xff]), formatSized(data)])
}

function formatSized(data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([data.length >> 8, data.length & 0xff]), data])
}

function takeFitting(records: readonly ReplyRecord[], maxBytes: number): readonly Buffer[] {
  const taken: Buffer[] = []
  let left = maxBytes
  for (const record of records.map(formatRecord)) {
    left -= record.length
    if (left < 0) break
    taken.push(record)
  }
  return taken
}

function formatRecord({ type, data }: ReplyRecord): Buffer {
  const fixed = Buffer.alloc(12)
  fixed.writeUInt16BE(POINTER_TO_QUESTION, 0)
  fixed.writeUInt16BE(type, 2)
  fixed.writeUInt16BE(CLASS_IN, 4)
  fixed.writeUInt32BE(TTL_SECONDS, 6)
  fixed.writeUInt16BE(data.length, 10)
  return Buffer.concat([fixed, Buffer.from(data)])
}

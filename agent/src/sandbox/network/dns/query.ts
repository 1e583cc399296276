/** Longest query, over UDP as over TCP (RFC 1035 §4.2.1): one question needs less. */
export const MAX_QUERY_BYTES = 512

export const RCODE = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  noName: 3,
  notImplemented: 4,
  refused: 5,
} as const
export type Rcode = (typeof RCODE)[keyof typeof RCODE]

/** Header of RFC 1035 §4.1.1. */
export const HEADER_BYTES = 12
/** Counts of questions, answers, authorities and additional records, two bytes each. */
const COUNTS_AT = 4
const CLASS_IN = 1
const MAX_NAME_BYTES = 255
const MAX_LABEL_BYTES = 63

const FLAG = { response: 0x8000, recursionDesired: 0x0100 } as const
const OPCODE = 0x7800
/** Bits that a query may set: RD, and AD and CD of RFC 4035 §3.2. */
const OPTIONAL_FLAGS = 0x0130

/** A pseudo-record of RFC 6891 §6.1.2 up to its data: root name, type, class, TTL and length. */
const OPT_BYTES = 11
const TYPE_OPT = 41
const OPT_VERSION_AT = 6
const OPT_LENGTH_AT = 9

/** The parts of a query that its reply repeats. */
export interface QueryHead {
  readonly id: number
  readonly isRecursionDesired: boolean
  /** The question as it was sent; empty where it cannot be read. */
  readonly question: Buffer
  readonly hasEdns: boolean
}

export interface Query {
  readonly head: QueryHead
  /**
   * Labels joined by dots, without the final dot. Null for a name that no host can have, because a
   * label holds a dot or another byte than visible ASCII.
   */
  readonly name: string | null
  readonly type: number
}

export type ReadQuery =
  | ({ readonly kind: 'query' } & Query)
  | { readonly kind: 'refused'; readonly head: QueryHead; readonly rcode: Rcode }
  /** Too short for an answer, or itself an answer, which could begin a loop. */
  | { readonly kind: 'ignored' }

const EMPTY: Buffer = Buffer.alloc(0)

/**
 * Reads a query of one question of class IN, at most with a pseudo-record of EDNS. Everything else
 * is refused: a question with a compressed name, two questions, other records, bytes at the end.
 * The agent forwards no part of a query, so leniency gains no program anything.
 */
export function readQuery(packet: Buffer): ReadQuery {
  if (packet.length < HEADER_BYTES) return { kind: 'ignored' }
  const flags = packet.readUInt16BE(2)
  if ((flags & FLAG.response) !== 0) return { kind: 'ignored' }
  const bare: QueryHead = {
    id: packet.readUInt16BE(0),
    isRecursionDesired: (flags & FLAG.recursionDesired) !== 0,
    question: EMPTY,
    hasEdns: false,
  }
  const refuse = (rcode: Rcode, head = bare): ReadQuery => ({ kind: 'refused', head, rcode })
  if ((flags & OPCODE) !== 0) return refuse(RCODE.notImplemented)
  if ((flags & ~OPTIONAL_FLAGS) !== 0) return refuse(RCODE.formatError)
  const hasEdns = packet.readUInt16BE(COUNTS_AT + 6) === 1
  const nameEnd = findNameEnd(packet)
  const end = nameEnd + 4
  if (!hasOneQuestion(packet) || !endsAt(packet, end, hasEdns)) return refuse(RCODE.formatError)
  const head = { ...bare, question: packet.subarray(HEADER_BYTES, end), hasEdns }
  if (packet.readUInt16BE(nameEnd + 2) !== CLASS_IN) return refuse(RCODE.refused, head)
  const name = readName(packet, nameEnd)
  return { kind: 'query', head, name, type: packet.readUInt16BE(nameEnd) }
}

/** Whether the header counts one question, and no record but one at the end. */
function hasOneQuestion(packet: Buffer): boolean {
  const [questions, answers, authorities, additional = 0] = [0, 2, 4, 6].map((at) =>
    packet.readUInt16BE(COUNTS_AT + at),
  )
  return questions === 1 && answers === 0 && authorities === 0 && additional <= 1
}

/**
 * The end of the name that follows the header; beyond every packet for a pointer (RFC 1035 §4.1.4),
 * a bit label (RFC 2673), and a name that is too long.
 */
function findNameEnd(packet: Buffer): number {
  for (let at = HEADER_BYTES; at < packet.length;) {
    const length = packet[at] ?? 0
    at += 1 + length
    if (length > MAX_LABEL_BYTES || at - HEADER_BYTES > MAX_NAME_BYTES) break
    if (length === 0) return at
  }
  return Infinity
}

/** Whether the query ends there, or with the pseudo-record of EDNS after it. */
function endsAt(packet: Buffer, end: number, hasRecord: boolean): boolean {
  if (packet.length > MAX_QUERY_BYTES) return false
  if (!hasRecord) return packet.length === end
  if (packet.length < end + OPT_BYTES) return false
  return (
    packet[end] === 0 &&
    packet.readUInt16BE(end + 1) === TYPE_OPT &&
    packet[end + OPT_VERSION_AT] === 0 &&
    packet.length === end + OPT_BYTES + packet.readUInt16BE(end + OPT_LENGTH_AT)
  )
}

function readName(packet: Buffer, nameEnd: number): string | null {
  const labels: string[] = []
  for (let at = HEADER_BYTES; at < nameEnd - 1;) {
    const end = at + 1 + (packet[at] ?? 0)
    const label = packet.toString('latin1', at + 1, end)
    if (!/^[!-\-/-~]+$/.test(label)) return null
    labels.push(label)
    at = end
  }
  return labels.join('.')
}

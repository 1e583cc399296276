import type { HashedTuple } from './tuple-columns.ts'

/**
 * Bytes that rows take with their entries in indexes, rounded up: PostgreSQL takes about twice as
 * much for a record as SQLite.
 */
const RECORD = 300
const TUPLE = 400
const RULE = 200
const SOURCE = 500

/** The bytes that a batch adds to the account of its organization. */
export function weighBatch({
  records,
  tuples,
  sources,
}: {
  readonly records: number
  /** Those that are not stored yet. */
  readonly tuples: Iterable<HashedTuple>
  readonly sources: number
}): number {
  let bytes = records * RECORD + sources * SOURCE
  for (const tuple of tuples) bytes += weighTuple(tuple)
  return bytes
}

/** Names and paths are stored as they are, as a target, in the folded form, and in an index. */
function weighTuple({ tuple }: HashedTuple): number {
  const { host, path, address, program, os_user, rules, shadow } = tuple
  const target = bytesOf(host) + bytesOf(path)
  const others = bytesOf(address) + 2 * bytesOf(program) + bytesOf(os_user)
  const ruled = [...rules, ...(shadow?.rules ?? [])].reduce(
    (sum, { policy_id, rule_id }) => sum + RULE + bytesOf(policy_id) + 3 * bytesOf(rule_id),
    0,
  )
  return TUPLE + 4 * target + others + ruled
}

function bytesOf(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text)
}

import type { Value } from '../../../store/sql/connection.ts'
import { toStorable } from './storable-text.ts'
import { tupleColumns, type HashedTuple } from './tuple-columns.ts'

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
  /** Tuples that are not stored yet. */
  readonly tuples: Iterable<HashedTuple>
  readonly sources: number
}): number {
  let bytes = records * RECORD + sources * SOURCE
  for (const tuple of tuples) bytes += weighTuple(tuple)
  return bytes
}

/**
 * The columns as they are stored: JSON escapes characters, and others are replaced or grow in the
 * folded form. Targets, programs and rules are in an index, too.
 */
function weighTuple(hashed: HashedTuple): number {
  const { host, path, program, rules, shadow } = hashed.tuple
  const stored = tupleColumns(hashed).reduce<number>((sum, value) => sum + bytesOf(value), 0)
  const indexed = bytesOf(toStorable(path ?? host)) + bytesOf(toStorable(program))
  const ruled = [...rules, ...(shadow?.rules ?? [])].reduce(
    (sum, { rule_id }) => sum + RULE + 2 * bytesOf(toStorable(rule_id)),
    0,
  )
  return TUPLE + stored + indexed + ruled
}

function bytesOf(value: Value): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}

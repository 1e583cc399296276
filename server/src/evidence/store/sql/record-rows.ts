import type { Connection, Statement, Value } from '../../../store/sql/connection.ts'
import type { EvidencePosition, StoredEvidence } from '../evidence-store.ts'
import type { Condition } from './record-conditions.ts'
import { readTuple, TUPLE_COLUMNS, type TupleRow } from './tuple-columns.ts'

/** Numbers of ids for which a statement is kept; fewer are filled up with the last one again. */
const SIZES = [1, 4, 16, 64, 256]
/** Ids that `seek` and `hasMore` take. */
export const LARGEST_SEEK = 256

const NOT_READ: ReadonlySet<string> = new Set(['hash', 'target', 'folded', 'shadow_decision'])
const COLUMNS = [
  ...['id', 'last_ms', 'first_ms', 'decisions', 'flows'].map((name) => `r.${name}`),
  ...['bytes_sent', 'bytes_received', 'received_ms'].map((name) => `r.${name}`),
  ...['device_id', 'username', 'session'].map((name) => `s.${name}`),
  ...TUPLE_COLUMNS.map(({ name }) => name)
    .filter((name) => !NOT_READ.has(name))
    .map((name) => `t.${name}`),
].join()

interface RecordRow extends TupleRow {
  readonly id: number
  readonly last_ms: number
  readonly first_ms: number
  readonly decisions: number
  readonly flows: number
  readonly bytes_sent: number
  readonly bytes_received: number
  readonly received_ms: number
  readonly device_id: string
  readonly username: string | null
  readonly session: string
}

/** A part of one day's records of an organization, below a position and not before a time. */
export interface RecordRange {
  readonly org: { readonly id: number; readonly name: string }
  readonly day: number
  readonly fromMs: number
  readonly below: EvidencePosition
}

/** Records of a source that arrived together. */
export interface SourceRange extends Pick<RecordRange, 'day' | 'org'> {
  readonly source: number
  readonly first_id: number
  readonly last_id: number
  readonly from_ms: number
  readonly to_ms: number
}

/** The newest records of a range, as statements that are bounded in their work. */
export interface RecordReader {
  /**
   * Reads the `visited` newest, and returns those with `conditions` on `s` and `t`; at most
   * `limit`.
   */
  scan(
    range: RecordRange,
    conditions: Condition,
    bounds: { readonly visited: number; readonly limit: number },
  ): Promise<StoredEvidence[]>
  /** The position of the last of so many newest; undefined when there are fewer. */
  positionAfter(range: RecordRange, visited: number): Promise<EvidencePosition | undefined>
  /** Records of one source with an id and a time within bounds, all inclusive. */
  ofSource(part: SourceRange): Promise<StoredEvidence[]>
  /** Records of these sources or tuples. */
  seek(
    range: RecordRange,
    ids: SoughtIds,
    conditions: Condition,
    limit: number,
  ): Promise<StoredEvidence[]>
  /** Whether these sources or tuples have more records than so many. */
  hasMore(range: RecordRange, ids: SoughtIds, than: number): Promise<boolean>
}

/** At most `LARGEST_SEEK`. */
export interface SoughtIds {
  readonly column: 'source' | 'tuple'
  readonly wanted: readonly number[]
}

const NEWEST_FIRST = 'ORDER BY r.last_ms DESC, r.id DESC'
const IN_RANGE = `r.day = ? AND r.org = ? AND r.last_ms >= ? AND (r.last_ms, r.id) < (?, ?)`

/** CROSS JOIN: SQLite then takes the tables in this order. */
const JOINED = 'CROSS JOIN sources s CROSS JOIN tuples t WHERE s.id = r.source AND t.id = r.tuple'

/** Without the name of an index, SQLite reads all records of the range. */
function fromSought(column: SoughtIds['column']): string {
  return `records r INDEXED BY records_${column}`
}

function fillUp(wanted: SoughtIds['wanted']): Value[] {
  const size = SIZES.find((each) => each >= wanted.length) ?? LARGEST_SEEK
  return Array.from({ length: size }, (_, index) => wanted[index] ?? wanted.at(-1) ?? null)
}

export function createRecordReader(connection: Connection): RecordReader {
  const statements = new Map<string, Statement<RecordRow>>()
  const positionAfter = connection.prepare<EvidencePosition>(
    `SELECT r.last_ms, r.id FROM records r WHERE ${IN_RANGE} ${NEWEST_FIRST} LIMIT 1 OFFSET ?`,
  )

  function statementOf(sql: string): Statement<RecordRow> {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const made = connection.prepare<RecordRow>(sql)
    statements.set(sql, made)
    return made
  }

  return {
    async scan(range, { sql, values }, { visited, limit }) {
      const rows = await statementOf(
        `SELECT ${COLUMNS} FROM
           (SELECT r.* FROM records r WHERE ${IN_RANGE} ${NEWEST_FIRST} LIMIT ?) r
         ${JOINED}${sql} ${NEWEST_FIRST} LIMIT ?`,
      ).all(...valuesOf(range), visited, ...values, limit)
      return rows.map((row) => readRecord(range.org.name, row))
    },
    async ofSource({ day, org, source, from_ms, to_ms, first_id, last_id }) {
      const rows = await statementOf(
        `SELECT ${COLUMNS} FROM ${fromSought('source')} ${JOINED}
           AND r.day = ? AND r.org = ? AND r.source = ? AND r.last_ms >= ? AND r.last_ms <= ?
           AND r.id >= ? AND r.id <= ? ORDER BY r.last_ms, r.id`,
      ).all(day, org.id, source, from_ms, to_ms, first_id, last_id)
      return rows.map((row) => readRecord(org.name, row))
    },
    positionAfter: (range, visited) => positionAfter.get(...valuesOf(range), visited - 1),
    async seek(range, { column, wanted }, { sql, values }, limit) {
      const ids = fillUp(wanted)
      const rows = await statementOf(
        `SELECT ${COLUMNS} FROM ${fromSought(column)} ${JOINED} AND ${IN_RANGE}
           AND r.${column} IN (${ids.map(() => '?').join()})${sql} ${NEWEST_FIRST} LIMIT ?`,
      ).all(...valuesOf(range), ...ids, ...values, limit)
      return rows.map((row) => readRecord(range.org.name, row))
    },
    async hasMore(range, { column, wanted }, than) {
      const ids = fillUp(wanted)
      const statement = statementOf(
        `SELECT r.id FROM ${fromSought(column)} WHERE ${IN_RANGE}
           AND r.${column} IN (${ids.map(() => '?').join()}) LIMIT 1 OFFSET ?`,
      )
      return (await statement.get(...valuesOf(range), ...ids, than)) !== undefined
    },
  }
}

function valuesOf({ day, org, fromMs, below }: RecordRange): Value[] {
  return [day, org.id, fromMs, below.last_ms, below.id]
}

function readRecord(org: string, row: RecordRow): StoredEvidence {
  return {
    id: row.id,
    org,
    device_id: row.device_id,
    username: row.username,
    received_ms: row.received_ms,
    session: row.session,
    first_ms: row.first_ms,
    last_ms: row.last_ms,
    decisions: row.decisions,
    flows: row.flows,
    bytes_sent: row.bytes_sent,
    bytes_received: row.bytes_received,
    tuple: readTuple(row),
  }
}

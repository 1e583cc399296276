import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceBatch, Unexported, UnexportedCount } from '../evidence-store.ts'
import { dayOf } from './day.ts'
import { createRecordReader } from './record-rows.ts'
import type { WritingSession } from './writing-session.ts'

/** Parts of batches that one call looks at. */
const PARTS_IN_A_CALL = 64
/**
 * Parts that one statement counts or removes. While a receiver is away for days there are millions,
 * and one statement for all of them would hold the event loop, or reach the time limit of
 * PostgreSQL each time.
 */
const PARTS_IN_A_STEP = 2_000
/** Rows of a part after which other work of the process may come between. */
const ROWS_IN_A_TURN = 250

/** The rows of a batch of one day and one source: a range of an index of `records`. */
interface Part {
  readonly id: number
  readonly org: number
  readonly name: string
  readonly day: number
  readonly source: number
  readonly first_id: number
  readonly last_id: number
  readonly from_ms: number
  readonly to_ms: number
  readonly records: number
}

/** A batch may have 5,000 rows, which are read in several turns. */
function splitPart(part: Part): Part[] {
  if (part.records <= ROWS_IN_A_TURN) return [part]
  const pieces: Part[] = []
  for (let first_id = part.first_id; first_id <= part.last_id; first_id += ROWS_IN_A_TURN) {
    const last_id = Math.min(first_id + ROWS_IN_A_TURN - 1, part.last_id)
    pieces.push({ ...part, first_id, last_id })
  }
  return pieces
}

interface CountedParts {
  readonly records: number
  readonly oldest_ms: number | null
  readonly last_id: number | null
}

export interface UnexportedReader {
  take(exporter: string, most: number): Promise<Unexported>
  count(exporter: string): Promise<UnexportedCount>
}

/** Ids are those of the parts, because these can commit in another order than they were made. */
export function createUnexportedReader(
  connection: Connection,
  pause: () => Promise<void>,
): UnexportedReader {
  const parts = connection.prepare<Part>(
    `SELECT u.*, o.name FROM unexported u JOIN organizations o ON o.id = u.org
     WHERE u.exporter = ? ORDER BY u.id LIMIT ${PARTS_IN_A_CALL}`,
  )
  const countNext = connection.prepare<CountedParts>(
    `SELECT CAST(COALESCE(SUM(records), 0) AS BIGINT) AS records, MIN(received_ms) AS oldest_ms,
       MAX(id) AS last_id
     FROM (SELECT id, records, received_ms FROM unexported
           WHERE exporter = ? AND id > ? ORDER BY id LIMIT ${PARTS_IN_A_STEP}) parts`,
  )
  const known = connection.prepare('SELECT 1 FROM exporters WHERE name = ?')
  const records = createRecordReader(connection)
  return {
    async take(exporter, most) {
      const taken: Part[] = []
      let sum = 0
      for (const part of await parts.all(exporter)) {
        sum += part.records
        if (taken.length > 0 && sum > most) break
        taken.push(part)
      }
      const rows = []
      for (const { org: id, name, ...part } of taken.flatMap(splitPart)) {
        rows.push(...(await records.ofSource({ org: { id, name }, ...part })))
        await pause()
      }
      return { ids: taken.map(({ id }) => id), rows }
    },
    async count(exporter) {
      const sum: { records: number; oldest_ms: number | null } = { records: 0, oldest_ms: null }
      let after: number | null = 0
      while (after !== null) {
        const next: CountedParts | undefined = await countNext.get(exporter, after)
        sum.records += next?.records ?? 0
        const oldest = next?.oldest_ms ?? null
        if (oldest !== null) sum.oldest_ms = Math.min(sum.oldest_ms ?? oldest, oldest)
        after = next?.last_id ?? null
        await pause()
      }
      return { ...sum, is_known: (await known.get(exporter)) !== undefined }
    },
  }
}

/** Notes rows of a batch for each exporter, in the transaction of the batch. */
export type NoteUnexported = (
  org: number,
  batch: EvidenceBatch,
  ids: { readonly first: number; readonly sources: ReadonlyMap<string, number> },
) => Promise<void>

export function createNoteUnexported(session: WritingSession): NoteUnexported {
  const { connection } = session
  const exporters = connection.prepare<{ readonly name: string }>('SELECT name FROM exporters')
  const numbers = 'org day source first_id last_id from_ms to_ms records received_ms'
  const insert = session.insertInto({ name: 'unexported', effect: 'everything' }, [
    { name: 'exporter', type: 'TEXT' },
    ...numbers.split(' ').map((name) => ({ name, type: 'BIGINT' as const })),
  ])
  return async (org, { rows, chain }, { first, sources }) => {
    if (rows.length === 0) return
    const names = await exporters.all()
    if (names.length === 0) return
    const last = first + rows.length - 1
    const parts = partsOf(rows).map(([[day, key], { from, to, records }]) => {
      const source = sources.get(key) ?? null
      return [org, day, source, first, last, from, to, records, chain.received_ms]
    })
    await insert.run(parts.flatMap((values) => names.map(({ name }) => [name, ...values])))
  }
}

interface PartRange {
  from: number
  to: number
  records: number
}

function partsOf(
  rows: EvidenceBatch['rows'],
): readonly (readonly [key: readonly [day: number, session: string], range: PartRange])[] {
  const parts = new Map<string, readonly [readonly [number, string], PartRange]>()
  for (const { session, last_ms } of rows) {
    const day = dayOf(last_ms)
    const key = `${day} ${session}`
    const [, range] = parts.get(key) ?? []
    if (range === undefined) {
      parts.set(key, [[day, session], { from: last_ms, to: last_ms, records: 1 }])
    } else {
      range.from = Math.min(range.from, last_ms)
      range.to = Math.max(range.to, last_ms)
      range.records += 1
    }
  }
  return [...parts.values()]
}

/** Some of the parts of a longer removal. */
export interface RemovedParts {
  readonly records: number
  readonly isLast: boolean
}

export interface ExportWriter {
  /** Removes parts of exporters that are left out. The last call sets who exports. */
  setExporters(names: readonly string[]): Promise<RemovedParts>
  addExporter(name: string): Promise<void>
  lease(exporter: string, holder: string, nowMs: number, forMs: number): Promise<boolean>
  exported(ids: readonly number[]): Promise<void>
  /** Removes parts of the days before this one. */
  dropUnexported(before: number): Promise<RemovedParts>
}

/** A server whose clock was in another year may have ended before it was set. */
const MOST_CLOCKS_APART_MS = 10 * 60_000

export function createExportWriter(connection: Connection): ExportWriter {
  const known = connection.prepare<{ readonly name: string }>('SELECT name FROM exporters')
  const insert = connection.prepare(
    'INSERT INTO exporters (name, holder, until_ms) VALUES (?, NULL, 0) ON CONFLICT DO NOTHING',
  )
  const remove = connection.prepare('DELETE FROM exporters WHERE name = ?')
  const removeSome = createRemoveParts(connection, 'exporter')
  const take = connection.prepare(
    `UPDATE exporters SET holder = ?, until_ms = ?
     WHERE name = ? AND (holder = ? OR until_ms < ? OR until_ms > ?)`,
  )
  const removeOne = connection.prepare('DELETE FROM unexported WHERE id = ?')
  const removeOld = createRemoveParts(connection, 'day')

  return {
    async setExporters(names) {
      let records = 0
      for (const { name } of await known.all()) {
        if (names.includes(name)) continue
        const removed = await removeSome(name)
        records += removed.records
        if (!removed.isLast) return { records, isLast: false }
        await remove.run(name)
      }
      for (const name of names) await insert.run(name)
      return { records, isLast: true }
    },
    async addExporter(name) {
      await insert.run(name)
    },
    async lease(exporter, holder, nowMs, forMs) {
      const untilMs = nowMs + forMs
      const mostMs = untilMs + MOST_CLOCKS_APART_MS
      return (await take.run(holder, untilMs, exporter, holder, nowMs, mostMs)) > 0
    },
    async exported(ids) {
      for (const id of ids) await removeOne.run(id)
    },
    dropUnexported: removeOld,
  }
}

/** Removes the parts of an exporter, or those of the days before one. */
function createRemoveParts(
  connection: Connection,
  by: 'day' | 'exporter',
): (value: number | string) => Promise<RemovedParts> {
  // In the order of an index: PostgreSQL would read the whole table in each step.
  const which = by === 'day' ? 'day < ? ORDER BY day' : 'exporter = ? ORDER BY id'
  const remove = connection.prepare<{ readonly records: number }>(
    `DELETE FROM unexported WHERE id IN
       (SELECT id FROM unexported WHERE ${which} LIMIT ${PARTS_IN_A_STEP}) RETURNING records`,
  )
  return async (value) => {
    const removed = await remove.all(value)
    const records = removed.reduce((sum, part) => sum + part.records, 0)
    return { records, isLast: removed.length < PARTS_IN_A_STEP }
  }
}

import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceBatch, Unexported, UnexportedCount } from '../evidence-store.ts'
import { dayOf } from './day.ts'
import { createRecordReader } from './record-rows.ts'

/** Parts of batches that one call looks at. */
const PARTS_IN_A_CALL = 64

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

export interface UnexportedReader {
  take(exporter: string, most: number): Promise<Unexported>
  count(exporter: string): Promise<UnexportedCount>
}

/** Ids are those of the parts, because these can commit in another order than they were made. */
export function createUnexportedReader(connection: Connection): UnexportedReader {
  const parts = connection.prepare<Part>(
    `SELECT u.*, o.name FROM unexported u JOIN organizations o ON o.id = u.org
     WHERE u.exporter = ? ORDER BY u.id LIMIT ${PARTS_IN_A_CALL}`,
  )
  const count = connection.prepare<{ readonly records: number; readonly oldest_ms: number | null }>(
    `SELECT CAST(COALESCE(SUM(records), 0) AS BIGINT) AS records, MIN(received_ms) AS oldest_ms
     FROM unexported WHERE exporter = ?`,
  )
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
      for (const { org: id, name, ...part } of taken)
        rows.push(...(await records.ofSource({ org: { id, name }, ...part })))
      return { ids: taken.map(({ id }) => id), rows }
    },
    async count(exporter) {
      const { records: waiting = 0, oldest_ms = null } = (await count.get(exporter)) ?? {}
      return { records: waiting, oldest_ms }
    },
  }
}

/** Notes rows of a batch for each exporter, in the transaction of the batch. */
export type NoteUnexported = (
  org: number,
  batch: EvidenceBatch,
  ids: { readonly first: number; readonly sources: ReadonlyMap<string, number> },
) => Promise<void>

export function createNoteUnexported(connection: Connection): NoteUnexported {
  const exporters = connection.prepare<{ readonly name: string }>('SELECT name FROM exporters')
  const insert = connection.prepare(
    `INSERT INTO unexported (exporter, org, day, source, first_id, last_id, from_ms, to_ms, records,
       received_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  return async (org, { rows, chain }, { first, sources }) => {
    if (rows.length === 0) return
    const names = await exporters.all()
    if (names.length === 0) return
    const last = first + rows.length - 1
    for (const [key, { from, to, records }] of partsOf(rows)) {
      const [day, session] = key
      const source = sources.get(session) ?? null
      const values = [org, day, source, first, last, from, to, records, chain.received_ms]
      for (const { name } of names) await insert.run(name, ...values)
    }
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

export interface ExportWriter {
  /** Returns how many records the exporters that are left out still had to export. */
  setExporters(names: readonly string[]): Promise<number>
  lease(exporter: string, holder: string, nowMs: number, forMs: number): Promise<boolean>
  exported(ids: readonly number[]): Promise<void>
  /** Forgets what was not exported of the days before this one. Returns the records. */
  dropUnexported(before: number): Promise<number>
}

export function createExportWriter(connection: Connection): ExportWriter {
  const known = connection.prepare<{ readonly name: string }>('SELECT name FROM exporters')
  const insert = connection.prepare(
    'INSERT INTO exporters (name, holder, until_ms) VALUES (?, NULL, 0) ON CONFLICT DO NOTHING',
  )
  const remove = connection.prepare('DELETE FROM exporters WHERE name = ?')
  const count = connection.prepare<{ readonly records: number }>(
    `SELECT CAST(COALESCE(SUM(records), 0) AS BIGINT) AS records FROM unexported
     WHERE exporter = ?`,
  )
  const removeAll = connection.prepare('DELETE FROM unexported WHERE exporter = ?')
  const take = connection.prepare(
    'UPDATE exporters SET holder = ?, until_ms = ? WHERE name = ? AND (holder = ? OR until_ms < ?)',
  )
  const removeOne = connection.prepare('DELETE FROM unexported WHERE id = ?')
  const countOld = connection.prepare<{ readonly records: number }>(
    'SELECT CAST(COALESCE(SUM(records), 0) AS BIGINT) AS records FROM unexported WHERE day < ?',
  )
  const removeOld = connection.prepare('DELETE FROM unexported WHERE day < ?')

  return {
    async setExporters(names) {
      let left = 0
      for (const { name } of await known.all()) {
        if (names.includes(name)) continue
        left += (await count.get(name))?.records ?? 0
        await removeAll.run(name)
        await remove.run(name)
      }
      for (const name of names) await insert.run(name)
      return left
    },
    async lease(exporter, holder, nowMs, forMs) {
      return (await take.run(holder, nowMs + forMs, exporter, holder, nowMs)) > 0
    },
    async exported(ids) {
      for (const id of ids) await removeOne.run(id)
    },
    async dropUnexported(before) {
      const records = (await countOld.get(before))?.records ?? 0
      await removeOld.run(before)
      return records
    },
  }
}

import type { Connection, Value } from '../../../store/sql/connection.ts'
import type { InsertRows } from '../../../store/sql/insert-rows.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { EvidenceBatch } from '../evidence-store.ts'
import { createMoveChain } from './chain-rows.ts'
import { dayOf } from './day.ts'
import { createStoreSources } from './source-rows.ts'
import { createTupleFiling } from './tuple-rows.ts'
import { createNoteUnexported } from './unexported-rows.ts'
import type { WritingSession } from './writing-session.ts'

/** No sum of losses that a machine claims leaves the safe integers. */
const MOST_LOST = 1_000_000_000
/** Rows after which other work of the process may come between. */
const ROWS_IN_A_TURN = 250

/** Writes a batch, within a transaction. */
export type AppendBatch = (batch: EvidenceBatch) => Promise<void>

/**
 * The locks of PostgreSQL are taken in one order: the chain of the device, then the organization,
 * whose ids so ascend in the order of the commits.
 */
export function createAppendBatch(session: WritingSession): AppendBatch {
  const { connection } = session
  const ensureOrganization = createEnsureOrganization(connection)
  const moveChain = createMoveChain(connection)
  const tuples = createTupleFiling(session)
  const storeSources = createStoreSources(connection)
  const noteUnexported = createNoteUnexported(connection)
  const reserve = connection.prepare<{ readonly last_record: number }>(
    `UPDATE organizations SET last_record = last_record + ? WHERE id = ? RETURNING last_record`,
  )
  const insertRecords = createInsertRecords(session)
  const insertLosses = createInsertLosses(session)
  const countDay = connection.prepare(
    `INSERT INTO days (org, day, records) VALUES (?, ?, ?)
     ON CONFLICT (org, day) DO UPDATE SET records = days.records + excluded.records`,
  )

  async function insertInTurns(table: InsertRows, rows: readonly (readonly Value[])[]) {
    for (let first = 0; first < rows.length; first += ROWS_IN_A_TURN) {
      await table.run(rows.slice(first, first + ROWS_IN_A_TURN))
      await session.pause()
    }
  }

  return async (batch) => {
    const { rows, losses, device_id, chain } = batch
    const org = await ensureOrganization(batch.org)
    await moveChain(org, batch)
    const found = await tuples.find(org, rows)
    await session.pause()
    const reserved = await reserve.get(rows.length, org)
    if (reserved === undefined)
      throw new StoreError('ERR_STORE_CONFLICT', 'the organization was deleted', {
        subject: 'other',
      })
    const firstId = reserved.last_record - rows.length + 1
    const tupleIds = await tuples.store(org, found)
    const sourceIds = await storeSources(org, batch)
    await insertInTurns(
      insertRecords,
      rows.map((row, index) => [
        dayOf(row.last_ms),
        org,
        row.last_ms,
        firstId + index,
        sourceIds.get(row.session) ?? null,
        tupleIds[index] ?? null,
        row.first_ms,
        row.decisions,
        row.flows,
        row.bytes_sent,
        row.bytes_received,
        chain.received_ms,
      ]),
    )
    await noteUnexported(org, batch, { first: firstId, sources: sourceIds })
    for (const [day, count] of countByDay(rows)) await countDay.run(org, day, count)
    await insertInTurns(
      insertLosses,
      losses.map(({ at_ms, lost, reason }) => [
        org,
        dayOf(at_ms),
        at_ms,
        device_id,
        reason,
        Math.min(lost, MOST_LOST),
      ]),
    )
  }
}

function createEnsureOrganization(connection: Connection): (name: string) => Promise<number> {
  const find = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM organizations WHERE name = ?',
  )
  const insert = connection.prepare(
    'INSERT INTO organizations (name, last_record) VALUES (?, 0) ON CONFLICT DO NOTHING',
  )
  return async (name) => {
    const known = await find.get(name)
    if (known !== undefined) return known.id
    await insert.run(name)
    return (await find.get(name))?.id ?? 0
  }
}

function createInsertRecords(session: WritingSession): InsertRows {
  const names =
    'day org last_ms id source tuple first_ms decisions flows bytes_sent bytes_received received_ms'
  return session.insertInto(
    { name: 'records', effect: 'everything' },
    names.split(' ').map((name) => ({ name, type: 'BIGINT' })),
  )
}

function createInsertLosses(session: WritingSession): InsertRows {
  return session.insertInto({ name: 'losses', effect: 'everything' }, [
    { name: 'org', type: 'BIGINT' },
    { name: 'day', type: 'BIGINT' },
    { name: 'at_ms', type: 'BIGINT' },
    { name: 'device_id', type: 'TEXT' },
    { name: 'reason', type: 'TEXT' },
    { name: 'lost', type: 'BIGINT' },
  ])
}

function countByDay(rows: EvidenceBatch['rows']): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const { last_ms } of rows) {
    const day = dayOf(last_ms)
    counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  return counts
}

import type { Value } from '../../../store/sql/connection.ts'
import type { InsertRows } from '../../../store/sql/insert-rows.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { EvidenceLimits, ExceededLimit } from '../evidence-limits.ts'
import type { EvidenceBatch } from '../evidence-store.ts'
import { createAccount } from './account-rows.ts'
import { createMoveChain } from './chain-rows.ts'
import { dayOf } from './day.ts'
import { createStoreLosses } from './loss-rows.ts'
import { createOrganizationRows } from './organization-rows.ts'
import { createSourceFiling } from './source-rows.ts'
import { createTupleFiling, missingTuples } from './tuple-rows.ts'
import { createNoteUnexported } from './unexported-rows.ts'
import { weighBatch } from './weigh-batch.ts'
import type { WritingSession } from './writing-session.ts'

/** Rows after which other work of the process may come between. */
const ROWS_IN_A_TURN = 1_000

/** Writes a batch within a transaction, or counts its decisions as lost beyond a limit. */
export type AppendBatch = (
  batch: EvidenceBatch,
  limits: EvidenceLimits,
) => Promise<ExceededLimit | null>

/**
 * The locks of PostgreSQL are taken in one order: the chain of the device, new tuples by hash, then
 * the organization, whose ids so ascend in the order of the commits. Batches of one organization
 * wait for each other from there on, so the long work comes before.
 */
export function createAppendBatch(session: WritingSession): AppendBatch {
  const { connection } = session
  const organizations = createOrganizationRows(connection)
  const moveChain = createMoveChain(connection)
  const account = createAccount(connection)
  const tuples = createTupleFiling(session)
  const sources = createSourceFiling(session)
  const noteUnexported = createNoteUnexported(session)
  const reserve = connection.prepare<{ readonly last_record: number }>(
    `UPDATE organizations SET last_record = last_record + ?, bytes = bytes + ?
     WHERE id = ? RETURNING last_record`,
  )
  const insertRecords = createInsertRecords(session)
  const storeLosses = createStoreLosses(connection)
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

  return async (batch, limits) => {
    const { rows, chain } = batch
    const org = await organizations.ensure(batch.org)
    const found = { tuples: await tuples.find(org, rows), sources: await sources.find(org, batch) }
    await session.pause()
    const bytes = weighBatch({
      records: rows.length,
      tuples: missingTuples(found.tuples),
      sources: found.sources.wanted.size - found.sources.known.size,
    })
    const exceeded = await account.exceeded({ org, batch, bytes }, limits)
    if (exceeded !== null) {
      const lost = loseBatch(batch, exceeded)
      await moveChain(org, lost)
      await storeLosses(org, lost)
      return exceeded
    }
    session.requireRoom(bytes)
    await moveChain(org, batch)
    const sourceIds = await sources.store(org, batch, found.sources)
    const inserted = await tuples.insert(org, found.tuples)
    await storeLosses(org, batch)
    await account.book({ org, batch, bytes })
    const reserved = await reserve.get(rows.length, bytes, org)
    if (reserved === undefined) throw organizationDeleted()
    const firstId = reserved.last_record - rows.length + 1
    const tupleIds = await tuples.widen(org, inserted)
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
    return null
  }
}

/** Only the chain and one loss, so that a machine beyond its limit adds nothing to the store. */
function loseBatch(batch: EvidenceBatch, reason: ExceededLimit): EvidenceBatch {
  const { rows, losses, chain } = batch
  const decisions = rows.reduce((sum, row) => sum + row.decisions, 0)
  const lost = losses.reduce((sum, loss) => sum + loss.lost, decisions)
  return {
    ...batch,
    rows: [],
    losses: [{ at_ms: chain.received_ms, lost, reason }],
    chain: { ...chain, lost: Math.min(chain.lost + decisions, Number.MAX_SAFE_INTEGER) },
  }
}

function organizationDeleted(): StoreError {
  return new StoreError('ERR_STORE_CONFLICT', 'the organization was deleted', { subject: 'other' })
}

function createInsertRecords(session: WritingSession): InsertRows {
  const names =
    'day org last_ms id source tuple first_ms decisions flows bytes_sent bytes_received received_ms'
  return session.insertInto(
    { name: 'records', effect: 'everything' },
    names.split(' ').map((name) => ({ name, type: 'BIGINT' })),
  )
}

function countByDay(rows: EvidenceBatch['rows']): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const { last_ms } of rows) {
    const day = dayOf(last_ms)
    counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  return counts
}

import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceLoss } from '../evidence-record.ts'
import type { EvidenceBatch, EvidenceStore } from '../evidence-store.ts'
import { EXCEEDED_LIMITS } from '../evidence-limits.ts'
import { dayOf } from './day.ts'

/** The sum of many losses may exceed the numbers that an answer can hold. */
const MOST = String(Number.MAX_SAFE_INTEGER)
/** No sum of losses that a machine claims leaves the safe integers. */
const MOST_LOST = 1_000_000_000
const MOST_LOST_A_DAY = 1_000_000_000_000

/** See `EvidenceStore.losses`. */
export function createListLosses(connection: Connection): EvidenceStore['losses'] {
  const select = connection.prepare<EvidenceLoss>(
    `SELECT reason,
       CAST(CASE WHEN SUM(lost) > ${MOST} THEN ${MOST} ELSE SUM(lost) END AS BIGINT) AS lost,
       MAX(at_ms) AS at_ms FROM losses
     WHERE org = (SELECT id FROM organizations WHERE name = ?) AND device_id = ?
       AND at_ms >= ? AND at_ms < ?
     GROUP BY reason ORDER BY reason`,
  )
  return (org, deviceId, { fromMs, toMs }) => select.all(org, deviceId, fromMs, toMs)
}

/** See `EvidenceStore.lastLimited`. */
export function createFindLastLimited(connection: Connection): EvidenceStore['lastLimited'] {
  const find = connection.prepare<{ readonly at_ms: number | null }>(
    `SELECT MAX(at_ms) AS at_ms FROM losses
     WHERE org = (SELECT id FROM organizations WHERE name = ?) AND reason = ?`,
  )
  return async (org) => {
    let last: number | null = null
    for (const limit of EXCEEDED_LIMITS) {
      const at = (await find.get(org, limit))?.at_ms ?? null
      if (at !== null) last = Math.max(at, last ?? at)
    }
    return last
  }
}

/**
 * Stores the losses of a batch: one row for each device, day and reason, because a machine may send
 * thousands of them in each batch.
 */
export function createStoreLosses(
  connection: Connection,
): (org: number, batch: Pick<EvidenceBatch, 'device_id' | 'losses'>) => Promise<void> {
  const add = connection.prepare(
    `UPDATE losses SET
       lost = CASE WHEN lost + ? > ${MOST_LOST_A_DAY} THEN ${MOST_LOST_A_DAY} ELSE lost + ? END,
       at_ms = CASE WHEN at_ms > ? THEN at_ms ELSE ? END
     WHERE id = (SELECT MIN(id) FROM losses
       WHERE org = ? AND device_id = ? AND day = ? AND reason = ?)`,
  )
  const insert = connection.prepare(
    'INSERT INTO losses (lost, at_ms, org, device_id, day, reason) VALUES (?, ?, ?, ?, ?, ?)',
  )
  return async (org, { device_id, losses }) => {
    for (const { at_ms, lost, reason } of sumByDay(losses)) {
      const key = [org, device_id, dayOf(at_ms), reason]
      if ((await add.run(lost, lost, at_ms, at_ms, ...key)) === 0)
        await insert.run(lost, at_ms, ...key)
    }
  }
}

function sumByDay(losses: readonly EvidenceLoss[]): readonly EvidenceLoss[] {
  const sums = new Map<string, EvidenceLoss>()
  for (const { at_ms, lost, reason } of losses) {
    const key = `${dayOf(at_ms)} ${reason}`
    const sum = sums.get(key)
    sums.set(key, {
      at_ms: Math.max(at_ms, sum?.at_ms ?? at_ms),
      lost: Math.min(Math.min(lost, MOST_LOST) + (sum?.lost ?? 0), MOST_LOST_A_DAY),
      reason,
    })
  }
  return [...sums.values()]
}

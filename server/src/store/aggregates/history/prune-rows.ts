import type { EventWriter } from './event-contract.ts'
import type { Connection } from '../../sql/connection.ts'

/** The error of a dead delivery whose events were removed. */
const ERROR = 'history_removed'

interface LateWebhook {
  readonly id: string
  readonly delivered_sequence: number
}

/** `eventBytes`: bytes of an event beside its long texts. */
export function createPruneHistory(
  connection: Connection,
  eventBytes: number,
): EventWriter['prune'] {
  const subtract = connection.prepare(
    `UPDATE event_heads SET bytes = bytes - coalesce((
       SELECT sum(${eventBytes} + octet_length(subject)
         + coalesce(octet_length(before_state), 0) + coalesce(octet_length(after_state), 0))
       FROM events WHERE org = event_heads.org AND sequence <= ?), 0)
     WHERE org = ?`,
    'governance',
  )
  const remove = connection.prepare(
    'DELETE FROM events WHERE org = ? AND sequence <= ?',
    'governance',
  )
  const putCheckpoint = connection.prepare(
    `INSERT INTO history_checkpoints (org, sequence, hash, is_whole) VALUES (?, ?, ?, ?)
     ON CONFLICT (org) DO UPDATE SET
       sequence = excluded.sequence, hash = excluded.hash, is_whole = excluded.is_whole`,
    'governance',
  )
  const putItem = connection.prepare(
    `INSERT INTO history_items (org, item, recorded) VALUES (?, ?, ?)
     ON CONFLICT (org, item) DO UPDATE SET recorded = excluded.recorded`,
    'governance',
  )
  const removeItem = connection.prepare(
    'DELETE FROM history_items WHERE org = ? AND item = ?',
    'governance',
  )
  const late = connection.prepare<LateWebhook>(
    `SELECT id, delivered_sequence FROM webhooks
     WHERE org = ? AND delivered_sequence < ? ORDER BY id`,
  )
  const skip = connection.prepare(
    `UPDATE webhooks SET delivered_sequence = ?, attempts = 0, next_attempt_at = ?,
       lease_owner = NULL, lease_until = NULL
     WHERE id = ?`,
    'progress',
  )
  const removeDeliveries = connection.prepare(
    `DELETE FROM webhook_deliveries WHERE webhook_id = ? AND sequence <= ? AND state <> 'dead'`,
    'progress',
  )
  const putDead = connection.prepare(
    `INSERT INTO webhook_deliveries
       (webhook_id, sequence, state, attempts, status, error, attempted_at, next_attempt_at)
     VALUES (?, ?, 'dead', 0, NULL, '${ERROR}', ?, NULL)
     ON CONFLICT (webhook_id, sequence) DO NOTHING`,
    'progress',
  )
  return async (org, { checkpoint: { sequence, hash, is_whole }, items, at }) => {
    const skipped = await late.all(org, sequence)
    for (const { id } of skipped) {
      await removeDeliveries.run(id, sequence)
      await putDead.run(id, sequence, at)
      await skip.run(sequence, at, id)
    }
    await subtract.run(sequence, org)
    await remove.run(org, sequence)
    for (const [item, recorded] of items)
      if (recorded === null) await removeItem.run(org, item)
      else await putItem.run(org, item, recorded)
    await putCheckpoint.run(org, sequence, hash, Number(is_whole))
    return skipped.map(({ id, delivered_sequence }) => ({
      webhook_id: id,
      events: sequence - delivered_sequence,
    }))
  }
}

import type { DeliveryRecord } from '../records.ts'
import type {
  DeliveryReader,
  DeliveryWriter,
  DueWebhook,
  ListedDelivery,
} from '../contract/webhooks.ts'
import type { Connection } from './connection.ts'
import { toWebhook, type WebhookRow } from './webhook-rows.ts'

/** Delivered ones are kept for so many events; those given up for good. */
const KEPT = 100

/** Enabled, not leased, and with an event to deliver; parameters: now, now. */
const DUE = `w.enabled = 1 AND (w.lease_until IS NULL OR w.lease_until <= ?)
  AND (
    EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state = 'pending')
    OR (w.next_attempt_at <= ? AND EXISTS (
      SELECT 1 FROM event_heads h WHERE h.org = w.org AND h.sequence > w.delivered_sequence))
  )`

export function createDeliveryReader(connection: Connection): DeliveryReader {
  const due = connection.prepare<DueWebhook>(
    `SELECT id, org FROM (
       SELECT w.id, w.org, w.next_attempt_at,
         row_number() OVER (PARTITION BY w.org ORDER BY w.next_attempt_at, w.id) AS turn
       FROM webhooks w WHERE ${DUE}) waiting
     WHERE turn <= ? ORDER BY turn, next_attempt_at, id LIMIT ?`,
  )
  const anyDue = connection.prepare(`SELECT 1 FROM webhooks w WHERE ${DUE} LIMIT 1`)
  const list = connection.prepare<ListedDelivery>(
    `SELECT d.*, e.hash FROM webhook_deliveries d
     JOIN webhooks w ON w.id = d.webhook_id
     LEFT JOIN events e ON e.org = w.org AND e.sequence = d.sequence
     WHERE d.webhook_id = ? AND d.sequence < ? AND (CAST(? AS TEXT) IS NULL OR d.state = ?)
     ORDER BY d.sequence DESC LIMIT ?`,
  )
  const countPending = connection.prepare<{ count: number }>(
    `SELECT count(*) AS count FROM webhook_deliveries WHERE webhook_id = ? AND state = 'pending'`,
  )
  const position = connection.prepare<{ delivered_sequence: number }>(
    'SELECT delivered_sequence FROM webhooks WHERE id = ?',
  )
  const leastPosition = connection.prepare<{ least: number | null }>(
    'SELECT min(delivered_sequence) AS least FROM webhooks WHERE org = ?',
  )
  return {
    async due(now, { perOrganization, limit }) {
      // Runs after each commit, and is nearly always false; this query is cheaper than the turns
      // below.
      if ((await anyDue.get(now, now)) === undefined) return []
      return due.all(now, now, perOrganization, limit)
    },
    async list(webhookId, { state, before, limit }) {
      return list.all(webhookId, before ?? Number.MAX_SAFE_INTEGER, state, state, limit)
    },
    async countPending(webhookId) {
      return (await countPending.get(webhookId))?.count ?? 0
    },
    async position(webhookId) {
      return (await position.get(webhookId))?.delivered_sequence ?? 0
    },
    async leastPosition(org) {
      return (await leastPosition.get(org))?.least ?? Infinity
    },
  }
}

export function createDeliveryWriter(connection: Connection): DeliveryWriter {
  const findDue = connection.prepare<WebhookRow>(
    `SELECT w.* FROM webhooks w WHERE w.id = ? AND ${DUE}`,
  )
  const pending = connection.prepare<{ sequence: number }>(
    `SELECT sequence FROM webhook_deliveries WHERE webhook_id = ? AND state = 'pending'
     ORDER BY sequence LIMIT 1`,
  )
  const lease = connection.prepare(
    'UPDATE webhooks SET lease_owner = ?, lease_until = ? WHERE id = ?',
    'progress',
  )
  const release = connection.prepare(
    'UPDATE webhooks SET lease_owner = NULL, lease_until = NULL WHERE id = ? AND lease_owner = ?',
    'progress',
  )
  const advance = connection.prepare(
    'UPDATE webhooks SET delivered_sequence = ?, attempts = ?, next_attempt_at = ? WHERE id = ?',
    'progress',
  )
  const put = connection.prepare(
    `INSERT INTO webhook_deliveries
       (webhook_id, sequence, state, attempts, status, error, attempted_at, next_attempt_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (webhook_id, sequence) DO UPDATE SET
       state = excluded.state, attempts = excluded.attempts, status = excluded.status,
       error = excluded.error, attempted_at = excluded.attempted_at,
       next_attempt_at = excluded.next_attempt_at`,
    'progress',
  )
  const prune = connection.prepare(
    `DELETE FROM webhook_deliveries WHERE webhook_id = ? AND state = 'delivered' AND sequence <= ?`,
    'progress',
  )

  async function putDelivery(record: DeliveryRecord): Promise<void> {
    const { webhook_id, sequence, state, attempts, status, error } = record
    const times = [record.attempted_at, record.next_attempt_at]
    await put.run(webhook_id, sequence, state, attempts, status, error, ...times)
  }

  return {
    ...createDeliveryReader(connection),
    async claim(webhookId, { owner, now, until }) {
      const row = await findDue.get(webhookId, now, now)
      if (row === undefined) return null
      await lease.run(owner, until, webhookId)
      const again = await pending.get(webhookId)
      return {
        webhook: toWebhook(row),
        sequence: again?.sequence ?? row.delivered_sequence + 1,
        attempts: again === undefined ? row.attempts : 0,
        isAgain: again !== undefined,
      }
    },
    async settle(owner, delivery, position) {
      const { webhook_id } = delivery
      if ((await release.run(webhook_id, owner)) === 0) return false
      await putDelivery(delivery)
      if (position !== null) {
        const { delivered_sequence, attempts, next_attempt_at } = position
        await advance.run(delivered_sequence, attempts, next_attempt_at, webhook_id)
        await prune.run(webhook_id, delivered_sequence - KEPT)
      }
      return true
    },
    async release(webhookId, owner) {
      await release.run(webhookId, owner)
    },
    put: putDelivery,
  }
}

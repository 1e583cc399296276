import type { DeliveryState } from '@palisade/protocol'
import { defineAggregate } from '../aggregate.ts'
import { toWebhook, type WebhookRow } from './webhooks.ts'
import type { DeliveryRecord, WebhookRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'

/** An event that one server alone may send, until its lease ends. */
export interface ClaimedDelivery {
  readonly webhook: WebhookRecord
  readonly sequence: number
  /** Made so far. */
  readonly attempts: number
  /** Whether somebody asked for it once more, out of order. */
  readonly isAgain: boolean
}

/** How far a webhook has come. */
export interface DeliveryPosition {
  readonly delivered_sequence: number
  /** Made for the event after that. */
  readonly attempts: number
  readonly next_attempt_at: string
}

/** A webhook that has something to deliver and that no server has claimed. */
export type DueWebhook = Pick<WebhookRecord, 'id' | 'org'>

/** The outcome of an event, with its hash; null when the event is gone. */
export interface ListedDelivery extends DeliveryRecord {
  readonly hash: string | null
}

export interface DeliveryReader {
  /**
   * At most `perOrganization` of each organization, by turns: the longest due of every
   * organization first, then the second of every one.
   */
  due(
    now: string,
    share: { readonly perOrganization: number; readonly limit: number },
  ): Promise<DueWebhook[]>
  /** The newest first; `state` null for any, `before` null for the first page. */
  list(
    webhookId: string,
    page: {
      readonly state: DeliveryState | null
      /** Exclusive. */
      readonly before?: number | null
      readonly limit: number
    },
  ): Promise<ListedDelivery[]>
  /** How many are to be made again. */
  countPending(webhookId: string): Promise<number>
  /** Sequence of the last event that was delivered or given up. */
  position(webhookId: string): Promise<number>
  /** The least position of all webhooks of the organization; Infinity without a webhook. */
  leastPosition(org: string): Promise<number>
}

/** Progress, not history: it is not audited. */
export interface DeliveryWriter extends DeliveryReader {
  /** Null when the webhook is not due, or claimed until later than `now`. */
  claim(
    webhookId: string,
    lease: { readonly owner: string; readonly now: string; readonly until: string },
  ): Promise<ClaimedDelivery | null>
  /**
   * Keeps the outcome of a claimed delivery and ends the lease; `position` null leaves the webhook
   * where it is. Returns false and keeps no outcome when the lease has passed to another owner.
   */
  settle(
    owner: string,
    delivery: DeliveryRecord,
    position: DeliveryPosition | null,
  ): Promise<boolean>
  release(webhookId: string, owner: string): Promise<void>
  /** Replaces the delivery of this event. */
  put(delivery: DeliveryRecord): Promise<void>
}

export const DELIVERIES = defineAggregate({
  tables: [{ name: 'webhook_deliveries', key: ['webhook_id', 'sequence'] }],
  reader: createDeliveryReader,
  writer: createDeliveryWriter,
  // Progress changes no decision.
  events: null,
})

/** Delivered ones are kept for so many events; those given up for good. */
const KEPT = 100

/** Enabled, not leased, and with an event to deliver; parameters: now, now. */
const DUE = `w.enabled = 1 AND (w.lease_until IS NULL OR w.lease_until <= ?)
  AND (
    EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.state = 'pending')
    OR (w.next_attempt_at <= ? AND EXISTS (
      SELECT 1 FROM event_heads h WHERE h.org = w.org AND h.sequence > w.delivered_sequence))
  )`

function createDeliveryReader(connection: Connection): DeliveryReader {
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

function createDeliveryWriter(connection: Connection): DeliveryWriter {
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

import type { Webhook } from '@palisade/protocol'
import { defineAggregate } from '../aggregate.ts'
import type { Change, ChangeRecorder, Writes } from '../../change.ts'
import type { WebhookRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { StoreError } from '../../store-error.ts'

export interface WebhookReader {
  find(org: string, id: string): Promise<WebhookRecord | null>
  /** Lists webhooks by creation. */
  list(org: string): Promise<WebhookRecord[]>
  page(org: string, page: WebhookPage): Promise<WebhookRecord[]>
}

/**
 * The first `limit` webhooks after one, which may be gone; after empty texts for the first page.
 */
export interface WebhookPage {
  readonly after: Pick<WebhookRecord, 'created_at' | 'id'>
  readonly limit: number
}

export interface WebhookWriter extends WebhookReader {
  /** Its first event is the one that follows `after`. It has no previous secret. */
  insert(
    webhook: Omit<WebhookRecord, 'previous_secret' | 'previous_secret_until'>,
    after: number,
  ): Promise<void>
  /**
   * Also makes the waiting event due `at` once, with no attempts counted, and ends the lease: the
   * outcome of a running attempt does not apply to the changed webhook.
   */
  update(webhook: Pick<WebhookRecord, 'org' | 'id' | 'url' | 'enabled'>, at: string): Promise<void>
  /** The secret so far becomes the previous one. */
  replaceSecret(
    change: Pick<WebhookRecord, 'org' | 'id' | 'secret'> & { at: string; previousUntil: string },
  ): Promise<void>
  /** With its deliveries. */
  delete(org: string, id: string): Promise<void>
}

export const WEBHOOKS = defineAggregate({
  tables: [{ name: 'webhooks', key: ['id'] }],
  reader: createWebhookReader,
  writer: createWebhookWriter,
  events: auditWebhooks,
})

function auditWebhooks(
  webhooks: WebhookWriter,
  { record }: ChangeRecorder,
): Writes<WebhookWriter, WebhookReader> {
  async function current(org: string, id: string): Promise<Webhook> {
    const webhook = await webhooks.find(org, id)
    if (webhook === null)
      throw new StoreError('ERR_STORE_NOT_FOUND', `webhook \`${id}\` does not exist`)
    return showWebhook(webhook)
  }

  async function recordUpdate(
    what: Pick<Change, 'kind' | 'hidden'>,
    { org, id }: Pick<WebhookRecord, 'org' | 'id'>,
    work: () => Promise<void>,
  ): Promise<void> {
    const before = await current(org, id)
    await work()
    const after = await current(org, id)
    await record({ ...what, scope: { org }, subject: { id, name: after.url }, before, after })
  }

  return {
    async insert(webhook, after) {
      await webhooks.insert(webhook, after)
      const { org, id, url } = webhook
      const change = {
        scope: { org },
        kind: 'webhook.created' as const,
        subject: { id, name: url },
      }
      await record({ ...change, before: null, after: showWebhook(webhook) })
    },
    update: (change, at) =>
      recordUpdate({ kind: 'webhook.updated' }, change, () => webhooks.update(change, at)),
    // Of two within a millisecond not even the time of the secret tells that there were two.
    replaceSecret: (change) =>
      recordUpdate({ kind: 'webhook.secret_rotated', hidden: true }, change, () =>
        webhooks.replaceSecret(change),
      ),
    async delete(org, id) {
      const before = await current(org, id)
      await webhooks.delete(org, id)
      const change = { scope: { org }, kind: 'webhook.deleted' as const }
      await record({ ...change, subject: { id, name: before.url }, before, after: null })
    },
  }
}

function showWebhook(
  webhook: Pick<WebhookRecord, 'id' | 'url' | 'enabled' | 'created_at' | 'secret_created_at'>,
): Webhook {
  const { id, url, enabled, created_at, secret_created_at } = webhook
  return { id, url, enabled, created_at, secret_created_at }
}

export interface WebhookRow extends Omit<WebhookRecord, 'enabled'> {
  readonly enabled: number
  readonly delivered_sequence: number
  readonly attempts: number
}

function createWebhookReader(connection: Connection): WebhookReader {
  const find = connection.prepare<WebhookRow>('SELECT * FROM webhooks WHERE org = ? AND id = ?')
  const list = connection.prepare<WebhookRow>(
    'SELECT * FROM webhooks WHERE org = ? ORDER BY created_at, id',
  )
  const page = connection.prepare<WebhookRow>(
    `SELECT * FROM webhooks WHERE org = ? AND (created_at, id) > (?, ?)
     ORDER BY created_at, id LIMIT ?`,
  )
  return {
    async find(org, id) {
      const row = await find.get(org, id)
      return row === undefined ? null : toWebhook(row)
    },
    async list(org) {
      return (await list.all(org)).map(toWebhook)
    },
    async page(org, { after, limit }) {
      return (await page.all(org, after.created_at, after.id, limit)).map(toWebhook)
    },
  }
}

function createWebhookWriter(connection: Connection): WebhookWriter {
  const insert = connection.prepare(`INSERT INTO webhooks
       (id, org, url, enabled, secret, secret_created_at, created_at, delivered_sequence, attempts,
        next_attempt_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`)
  const update = connection.prepare(
    `UPDATE webhooks SET url = ?, enabled = ?, attempts = 0, next_attempt_at = ?,
       lease_owner = NULL, lease_until = NULL
     WHERE org = ? AND id = ?`,
  )
  const replaceSecret = connection.prepare(
    `UPDATE webhooks SET previous_secret = secret, previous_secret_until = ?, secret = ?,
       secret_created_at = ?
     WHERE org = ? AND id = ?`,
  )
  const remove = connection.prepare('DELETE FROM webhooks WHERE org = ? AND id = ?')
  return {
    ...createWebhookReader(connection),
    async insert({ id, org, url, enabled, secret, secret_created_at, created_at }, after) {
      const made = [id, org, url, Number(enabled), secret, secret_created_at, created_at]
      await insert.run(...made, after, created_at)
    },
    async update({ org, id, url, enabled }, at) {
      requireRow(await update.run(url, Number(enabled), at, org, id), id)
    },
    async replaceSecret({ org, id, secret, at, previousUntil }) {
      requireRow(await replaceSecret.run(previousUntil, secret, at, org, id), id)
    },
    async delete(org, id) {
      requireRow(await remove.run(org, id), id)
    },
  }
}

export function toWebhook(row: WebhookRow): WebhookRecord {
  return {
    id: row.id,
    org: row.org,
    url: row.url,
    enabled: row.enabled === 1,
    secret: row.secret,
    secret_created_at: row.secret_created_at,
    previous_secret: row.previous_secret,
    previous_secret_until: row.previous_secret_until,
    created_at: row.created_at,
  }
}

function requireRow(changes: number, id: string): void {
  if (changes === 0) throw new StoreError('ERR_STORE_NOT_FOUND', `webhook \`${id}\` does not exist`)
}

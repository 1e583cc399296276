import type { WebhookRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { WebhookReader, WebhookWriter } from '../contract/webhooks.ts'
import type { Connection } from './connection.ts'

export interface WebhookRow extends Omit<WebhookRecord, 'enabled'> {
  readonly enabled: number
  readonly delivered_sequence: number
  readonly attempts: number
}

export function createWebhookReader(connection: Connection): WebhookReader {
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

export function createWebhookWriter(connection: Connection): WebhookWriter {
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

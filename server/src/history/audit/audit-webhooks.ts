import type { Webhook } from '@palisade/protocol'
import { StoreError } from '../../store/store-error.ts'
import type { WebhookRecord } from '../../store/records.ts'
import type { WebhookReader, WebhookWriter } from '../../store/contract/webhooks.ts'
import type { Change, RecordChange, Writes } from '../change.ts'

export function auditWebhooks(
  webhooks: WebhookWriter,
  record: RecordChange,
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
    await record({ ...what, place: { org }, subject: { id, name: after.url }, before, after })
  }

  return {
    async insert(webhook, after) {
      await webhooks.insert(webhook, after)
      const { org, id, url } = webhook
      const change = {
        place: { org },
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
      const change = { place: { org }, kind: 'webhook.deleted' as const }
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

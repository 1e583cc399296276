import { notFound } from '../platform/api-error.ts'
import type { WebhookRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'

/** The webhook; throws 404. */
export async function findWebhook(
  reader: StoreReader,
  org: string,
  id: string,
): Promise<WebhookRecord> {
  const webhook = await reader.webhooks.find(org, id)
  if (webhook === null) throw notFound('webhook not found')
  return webhook
}

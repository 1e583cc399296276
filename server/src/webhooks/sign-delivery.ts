import { Webhook } from 'standardwebhooks'
import type { EventRecord, WebhookRecord } from '../store/records.ts'
import { formatDeliveryId } from './delivery-id.ts'

export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>
  /** The event as the feed shows it. */
  readonly body: string
}

/** A request by Standard Webhooks 1.0; for a while after a rotation with both signatures. */
export function signDelivery(webhook: WebhookRecord, event: EventRecord, at: Date): SignedDelivery {
  const id = formatDeliveryId(event)
  const body = JSON.stringify(event)
  const { previous_secret, previous_secret_until } = webhook
  const isOldGood = previous_secret !== null && (previous_secret_until ?? '') > at.toISOString()
  const secrets = [webhook.secret, ...(isOldGood ? [previous_secret] : [])]
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'palisade',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': secrets
        .map((secret) => new Webhook(secret).sign(id, at, body))
        .join(' '),
    },
  }
}

import { createHmac } from 'node:crypto'
import type { EventText } from '../store/aggregates/history/event-contract.ts'
import type { WebhookRecord } from '../store/records.ts'
import { formatDeliveryId } from './delivery-id.ts'
import { keyOfWebhookSecret } from './webhook-secret.ts'

export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>
  /** The event as the feed shows it. */
  readonly body: string
}

/**
 * A request by Standard Webhooks 1.0; for a while after a rotation with both signatures. Signed by
 * Node and not by the library of that name: its SHA-256 is JavaScript, and an event has 800 KB.
 */
export function signDelivery(webhook: WebhookRecord, event: EventText, at: Date): SignedDelivery {
  const id = formatDeliveryId(event)
  const seconds = String(Math.floor(at.getTime() / 1000))
  const { previous_secret, previous_secret_until } = webhook
  const isOldGood = previous_secret !== null && (previous_secret_until ?? '') > at.toISOString()
  const secrets = [webhook.secret, ...(isOldGood ? [previous_secret] : [])]
  const sign = (secret: string): string => {
    const hmac = createHmac('sha256', keyOfWebhookSecret(secret))
    return `v1,${hmac.update(`${id}.${seconds}.`).update(event.text).digest('base64')}`
  }
  return {
    body: event.text,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'palisade',
      'webhook-id': id,
      'webhook-timestamp': seconds,
      'webhook-signature': secrets.map(sign).join(' '),
    },
  }
}

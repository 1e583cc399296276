import type { DeliveryState } from '@palisade/protocol'
import type { DeliveryRecord, WebhookRecord } from '../records.ts'

export interface WebhookReader {
  find(org: string, id: string): Promise<WebhookRecord | null>
  /** By creation. */
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

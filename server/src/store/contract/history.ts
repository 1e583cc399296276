import type { EventHead, EventRecord } from '../records.ts'

export interface EventReader {
  /** By ascending sequence. */
  list(org: string, page: EventPage): Promise<EventRecord[]>
  /** Null for an organization without history. */
  head(org: string): Promise<EventHead | null>
}

/** Which events of an organization; null stands for any. */
export interface EventPage {
  /** Exclusive. */
  readonly after: number
  /** Inclusive. */
  readonly through: number
  readonly limit: number
  readonly kind?: string | null
  readonly actor?: string | null
  /** Inclusive, as `Date.toISOString`. */
  readonly since?: string | null
  /** Exclusive, as `Date.toISOString`. */
  readonly until?: string | null
}

export interface EventWriter extends EventReader {
  /**
   * Appends to the history of one organization and makes the last of `events` (one at least) its
   * head. The caller has chained them; a sequence that is taken throws `ERR_STORE_CONFLICT`.
   */
  append(org: string, events: readonly EventRecord[]): Promise<void>
}

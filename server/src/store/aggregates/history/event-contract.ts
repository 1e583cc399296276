import type { EventHead, EventRecord } from '../../records.ts'

export interface EventReader {
  /** Lists events by ascending sequence. */
  list(org: string, page: EventPage): Promise<EventRecord[]>
  /** Lists events for callers that only pass them on: large states are not parsed. */
  listTexts(org: string, page: EventPage): Promise<EventText[]>
  /** How large these events are, by ascending sequence, without reading their states. */
  measure(org: string, page: EventPage): Promise<EventSize[]>
  /** Null where there is no such event. */
  hashAt(org: string, sequence: number): Promise<string | null>
  /** Null for an organization without history. */
  head(org: string): Promise<EventHead | null>
  /** How many bytes its events take; 0 for an organization without history. */
  bytes(org: string): Promise<number>
  /** Null while no event of the organization was removed. */
  checkpoint(org: string): Promise<HistoryCheckpoint | null>
  /** Lists items, ascending. */
  listItems(org: string, page: ItemPage): Promise<HistoryItem[]>
}

export interface EventText extends EventHead {
  /** The event as JSON. */
  readonly text: string
}

export interface EventSize {
  readonly sequence: number
  /** Bytes of subject and states, as they are stored. */
  readonly bytes: number
}

/** The last removed event of an organization: its history begins after it. */
export interface HistoryCheckpoint extends EventHead {
  /** Whether the removed events began with the organization. */
  readonly is_whole: boolean
}

/** An item of the organization as the removed events leave it. */
export interface HistoryItem {
  readonly item: string
  readonly recorded: string
}

export interface ItemPage {
  /** Exclusive; empty for the first page. */
  readonly after: string
  readonly limit: number
}

/** Which events go, and the state that they lead to. */
export interface Pruning {
  readonly checkpoint: HistoryCheckpoint
  /** Items that differ from those kept so far; null removes one. */
  readonly items: ReadonlyMap<string, string | null>
  /** The latest time of an event that goes, `Date.toISOString`. */
  readonly last_removed_at: string
  /** `Date.toISOString` */
  readonly at: string
}

/** Events that a webhook will not get: they were removed before their delivery. */
export interface SkippedEvents {
  readonly webhook_id: string
  readonly events: number
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
  /**
   * Removes the events up to the checkpoint. A webhook that has not come so far goes on after it,
   * with one dead delivery for all that it misses.
   */
  prune(org: string, pruning: Pruning): Promise<SkippedEvents[]>
}

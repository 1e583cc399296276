import type { EventHead, EventRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import {
  describeCheckpoint,
  type DescribedCheckpoint,
} from '../store/aggregates/history/describe-checkpoint.ts'
import { isAnnounced } from './removals.ts'
import { EMPTY_HISTORY, hashEvent } from './event-hash.ts'

/** Events in memory at once; each may have 400 KB. */
const PAGE = 100

/** The fault of the first damaged event. */
export type HistoryDamage =
  /** The event does not have its hash: something in it was changed. */
  | 'edited'
  /** There is no event with this sequence, and there are later ones. */
  | 'removed'
  /** It does not follow the one before: events were inserted, replaced or put in another order. */
  | 'unlinked'
  /** The newest events are gone. */
  | 'truncated'
  /** It lies beyond the newest event that the server wrote. */
  | 'appended'
  /** Both the events and the head of the organization are missing. */
  | 'missing'
  /** The checkpoint differs from the one in the event of the removal. */
  | 'checkpoint'
  /** The history is whole, and is not the one whose head was noted. */
  | 'other_history'

export type HistoryVerdict =
  | {
      readonly intact: true
      readonly org: string
      readonly head: EventHead
      /** The last event that was removed on purpose; absent for a history from its beginning. */
      readonly removed_through?: number
    }
  | {
      readonly intact: false
      readonly org: string
      readonly damage: HistoryDamage
      /** The first event that is not as it was written, or should be there. */
      readonly sequence: number
    }

export interface VerifyOptions {
  /** A head that was printed earlier and kept elsewhere: its event must be in the history. */
  readonly noted?: string | undefined
  /** Told how many events of the organization have been checked. */
  readonly onProgress?: (checked: number) => void
  /** Told each event in order, before the next is checked. */
  readonly onEvent?: (event: EventRecord) => void
}

/**
 * Follows the chain of one organization from its first event to its head, in one snapshot. Where
 * the oldest events were removed on purpose it begins with their checkpoint, which the newest event
 * of a removal must confirm.
 *
 * The chain reveals every change unless all later hashes and the head are recomputed. An attacker
 * who can write to the database can do that; then only a head noted elsewhere reveals it.
 */
export async function verifyHistory(
  reader: StoreReader,
  org: string,
  { noted, onProgress, onEvent }: VerifyOptions = {},
): Promise<HistoryVerdict> {
  const head = await reader.events.head(org)
  const checkpoint = await describeCheckpoint(reader.events, org)
  const first = beginOf(checkpoint)
  let last = first
  let removal: EventRecord | null = null
  let hasNoted = noted === undefined || noted === first.hash
  for await (const event of readEvents(reader, org, onProgress)) {
    const finding = verifyEvent(event, last, head)
    if (finding !== null) return { intact: false, org, ...finding }
    last = { sequence: event.sequence, hash: event.hash }
    if (event.kind === 'history.pruned') removal = event
    onEvent?.(event)
    hasNoted ||= event.hash === noted
  }
  const finding = verifyEnd(last, head) ?? verifyCheckpoint(checkpoint, removal)
  if (finding !== null) return { intact: false, org, ...finding }
  if (!hasNoted) return { intact: false, org, damage: 'other_history', sequence: last.sequence }
  const start = first.sequence === 0 ? {} : { removed_through: first.sequence }
  return { intact: true, org, head: last, ...start }
}

/** The head that the first kept event follows. */
export function beginOf(checkpoint: DescribedCheckpoint | null): EventHead {
  if (checkpoint === null) return EMPTY_HISTORY
  return { sequence: checkpoint.removed_through, hash: checkpoint.hash }
}

export interface Finding {
  readonly damage: HistoryDamage
  readonly sequence: number
}

/** Whether `event` is as it was written, right after `last`. */
export function verifyEvent(
  event: EventRecord,
  last: EventHead,
  head: EventHead | null,
): Finding | null {
  const { sequence } = event
  if (sequence !== last.sequence + 1) return { damage: 'removed', sequence: last.sequence + 1 }
  if (event.previous_hash !== last.hash) return { damage: 'unlinked', sequence }
  if (hashEvent(event) !== event.hash) return { damage: 'edited', sequence }
  return head !== null && sequence > head.sequence ? { damage: 'appended', sequence } : null
}

function verifyEnd(last: EventHead, head: EventHead | null): Finding | null {
  if (head === null) return { damage: last.sequence === 0 ? 'missing' : 'appended', sequence: 1 }
  if (last.sequence < head.sequence) return { damage: 'truncated', sequence: last.sequence + 1 }
  return last.hash === head.hash ? null : { damage: 'unlinked', sequence: last.sequence }
}

function verifyCheckpoint(
  checkpoint: DescribedCheckpoint | null,
  removal: EventRecord | null,
): Finding | null {
  if (isAnnounced(checkpoint, removal)) return null
  return { damage: 'checkpoint', sequence: beginOf(checkpoint).sequence }
}

async function* readEvents(
  reader: Pick<StoreReader, 'events'>,
  org: string,
  onProgress: VerifyOptions['onProgress'],
): AsyncGenerator<EventRecord> {
  let after = Number.MIN_SAFE_INTEGER
  for (let checked = 0; ; onProgress?.(checked)) {
    const page = { after, through: Number.MAX_SAFE_INTEGER, limit: PAGE }
    const events = await reader.events.list(org, page)
    yield* events
    const last = events.at(-1)
    if (last === undefined || events.length < PAGE) return
    after = last.sequence
    checked += events.length
  }
}

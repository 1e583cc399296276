import type { EventHead, EventRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import { EMPTY_HISTORY, hashEvent } from './event-hash.ts'

/** Events in memory at once; each may have 400 KB. */
const PAGE = 100

/** What is wrong with the first event that is not as it was written. */
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
  /** Nothing is there, not even the note that the server keeps of an organization's newest event. */
  | 'missing'
  /** The history is whole, and is not the one whose head was noted. */
  | 'other_history'

export type HistoryVerdict =
  | { readonly intact: true; readonly org: string; readonly head: EventHead }
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
}

/**
 * Follows the chain of one organization from its first event to its head, in one snapshot.
 *
 * The chain finds what is changed by anybody who does not make all later hashes and the head anew.
 * Whoever can write to the database can do that; then only a head noted elsewhere tells.
 */
export async function verifyHistory(
  reader: StoreReader,
  org: string,
  { noted, onProgress }: VerifyOptions = {},
): Promise<HistoryVerdict> {
  const head = await reader.events.head(org)
  const broken = (damage: HistoryDamage, sequence: number): HistoryVerdict => {
    return { intact: false, org, damage, sequence }
  }
  let last = EMPTY_HISTORY
  let hasNoted = noted === undefined || noted === EMPTY_HISTORY.hash
  for await (const event of readEvents(reader, org, onProgress)) {
    const damage = damageOf(event, last)
    if (damage === 'removed') return broken(damage, last.sequence + 1)
    if (damage !== null) return broken(damage, event.sequence)
    if (head !== null && event.sequence > head.sequence) return broken('appended', event.sequence)
    last = { sequence: event.sequence, hash: event.hash }
    hasNoted ||= event.hash === noted
  }
  if (head === null) return broken(last.sequence === 0 ? 'missing' : 'appended', 1)
  if (last.sequence < head.sequence) return broken('truncated', last.sequence + 1)
  if (last.hash !== head.hash) return broken('unlinked', last.sequence)
  if (!hasNoted) return broken('other_history', last.sequence)
  return { intact: true, org, head }
}

function damageOf(event: EventRecord, last: EventHead): 'removed' | 'unlinked' | 'edited' | null {
  if (event.sequence !== last.sequence + 1) return 'removed'
  if (event.previous_hash !== last.hash) return 'unlinked'
  return hashEvent(event) === event.hash ? null : 'edited'
}

async function* readEvents(
  reader: StoreReader,
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

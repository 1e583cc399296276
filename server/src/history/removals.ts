import {
  readHistoryItems,
  type DescribedCheckpoint,
} from '../store/aggregates/history/describe-checkpoint.ts'
import type { EventReader, HistoryItem } from '../store/aggregates/history/event-contract.ts'
import type { EventRecord } from '../store/records.ts'
import type { RemovedState } from './removed-state.ts'

/** Removals read at once. */
const PAGE = 500

/** Whether `event`, the newest of a removal, tells of just this checkpoint. */
export function isAnnounced(
  checkpoint: DescribedCheckpoint | null,
  event: EventRecord | null,
): boolean {
  if (checkpoint === null || event === null) return checkpoint === null && event === null
  const { after } = event
  return Object.entries(checkpoint).every(([member, value]) => after?.[member] === value)
}

/** The newest removal, from a time on where `since` is given; null for none. */
export async function findRemoval(
  events: EventReader,
  org: string,
  since: string | null = null,
): Promise<EventRecord | null> {
  const through = Number.MAX_SAFE_INTEGER
  let newest: EventRecord | null = null
  for (;;) {
    const after: number = newest?.sequence ?? 0
    const page = { after, through, limit: PAGE, kind: 'history.pruned', since }
    const found: EventRecord[] = await events.list(org, page)
    newest = found.at(-1) ?? newest
    if (found.length < PAGE) return newest
  }
}

/** Every item as the removed events leave it. */
export async function readRemovedState(events: EventReader, org: string): Promise<RemovedState> {
  const checkpoint = await events.checkpoint(org)
  const items: HistoryItem[] = []
  for await (const item of readHistoryItems(events, org)) items.push(item)
  return { isWhole: checkpoint?.is_whole === true, items }
}

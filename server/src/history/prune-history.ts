import { nextTurn } from '../platform/next-turn.ts'
import type { EventHead } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import type {
  HistoryCheckpoint,
  SkippedEvents,
} from '../store/aggregates/history/event-contract.ts'
import type { AuditedStore } from './audit/audited-store.ts'
import type { Author } from './author.ts'
import { describeCheckpoint } from '../store/aggregates/history/describe-checkpoint.ts'
import { findRemoval, isAnnounced, readRemovedState } from './removals.ts'
import { planSlices } from './event-slices.ts'
import { createRecordedState, type RecordedState } from './recorded-state.ts'
import { beginOf, verifyEvent } from './verify-history.ts'

/**
 * Events of one transaction, which deletes them in one turn; no more are begun beyond the bytes.
 */
const [STEP, STEP_BYTES] = [1000, 16 * 2 ** 20]
/** Events that are measured at once; large events are read in far smaller numbers. */
const PAGE = 50

/** Which events go, by their time, `Date.toISOString`. */
export interface PruneLimits {
  /** Exclusive. */
  readonly before: string
  /** Older ones go although a webhook waits for them; exclusive. */
  readonly undeliveredBefore: string
}

export interface PruneDeps {
  readonly store: AuditedStore
  readonly now: () => Date
}

export type PruneOutcome =
  | {
      readonly ok: true
      readonly removed: number
      /** The events that webhooks miss. */
      readonly skipped: readonly SkippedEvents[]
      /** Whether a webhook that has not had them yet keeps older events. */
      readonly waits: boolean
    }
  /** Removing events that are not as they were written would hide it. */
  | { readonly ok: false; readonly sequence: number }

interface Step {
  readonly checkpoint: HistoryCheckpoint
  readonly lastAt: string
  readonly from: number
  /** Whether it holds more than earlier removals. */
  readonly isWorthIt: boolean
}

/**
 * Removes the oldest events of an organization, a thousand a transaction, after checking that each
 * is as it was written. Its head stays. Another server that does the same ends this one.
 */
export async function pruneHistory(
  { store, now }: PruneDeps,
  org: string,
  limits: PruneLimits,
  author: Author,
): Promise<PruneOutcome> {
  const start = await store.read((reader) => readStart(reader, org))
  if (!start.isSound) return { ok: false, sequence: start.last.sequence }
  const { recorded, newest } = start
  let { last } = start
  let removed = 0
  const skipped: SkippedEvents[] = []
  for (;;) {
    const step = await takeStep(store, org, { limits, last, recorded, newest })
    if ('broken' in step) return { ok: false, sequence: step.broken }
    const { from, checkpoint, lastAt, isWorthIt } = step
    if (!isWorthIt) return { ok: true, removed, skipped, waits: step.waits }
    const missed = await store.write(author, async ({ events }) => {
      if (((await events.checkpoint(org))?.sequence ?? 0) !== from) return null
      const items = recorded.takeChanges()
      const at = now().toISOString()
      return events.prune(org, { checkpoint, items, last_removed_at: lastAt, at })
    })
    if (missed === null) return { ok: true, removed, skipped, waits: step.waits }
    skipped.push(...missed)
    removed += checkpoint.sequence - from
    last = checkpoint
  }
}

/**
 * The beginning of the history, and whether its checkpoint is the one that its last removal wrote.
 */
async function readStart(reader: StoreReader, org: string) {
  const checkpoint = await describeCheckpoint(reader.events, org)
  const last = beginOf(checkpoint)
  const recorded = createRecordedState(await readRemovedState(reader.events, org))
  const isSound = isAnnounced(checkpoint, await findRemoval(reader.events, org))
  const newest = (await reader.events.head(org))?.sequence ?? 0
  return { last, recorded, newest, isSound }
}

/** Folds the events of one step into `recorded`. */
async function takeStep(
  store: AuditedStore,
  org: string,
  given: {
    readonly limits: PruneLimits
    readonly last: EventHead
    readonly recorded: RecordedState
    /** Newest event before the removal, which stays. */
    readonly newest: number
  },
): Promise<(Step & { readonly waits: boolean }) | { readonly broken: number }> {
  const { limits, recorded, newest } = given
  const from = given.last.sequence
  let { last } = given
  let isWorthIt = false
  let waits = false
  let bytes = 0
  let lastAt = ''
  walk: while (last.sequence < from + STEP && bytes < STEP_BYTES) {
    const after = last.sequence
    const { delivered, events, read } = await store.read(async (reader) => {
      const page = { after, through: from + STEP, limit: PAGE }
      const [slice] = planSlices(await reader.events.measure(org, page), PAGE, Infinity).slices
      return {
        delivered: await reader.deliveries.leastPosition(org),
        events: slice === undefined ? [] : await reader.events.list(org, slice),
        read: slice?.bytes ?? 0,
      }
    })
    bytes += read
    for (const event of events) {
      if (event.at >= limits.before || event.sequence >= newest) break walk
      waits = event.sequence > delivered && event.at >= limits.undeliveredBefore
      if (waits) break walk
      const finding = verifyEvent(event, last, null)
      if (finding !== null) return { broken: finding.sequence }
      recorded.apply(event)
      isWorthIt ||= event.kind !== 'history.pruned'
      last = { sequence: event.sequence, hash: event.hash }
      if (event.at > lastAt) lastAt = event.at
    }
    if (last.sequence === after) break
    await nextTurn()
  }
  const checkpoint = { ...last, is_whole: recorded.isWhole() }
  return { checkpoint, lastAt, from, isWorthIt, waits }
}

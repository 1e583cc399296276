import type { EventSize } from '../store/aggregates/history/event-contract.ts'

/** Read between two turns, or one event that is larger: an update holds a policy twice. */
const SLICE_BYTES = 64 * 1024
/** About the bytes of an event beside its subject and states. */
const FRAME_BYTES = 512

/** Events that are read at once: bounds of an `EventPage`. */
export interface EventSlice {
  /** Exclusive. */
  readonly after: number
  /** Inclusive. */
  readonly through: number
  readonly limit: number
  /** About the bytes of all of them. */
  readonly bytes: number
}

export interface SlicePlan {
  readonly slices: readonly EventSlice[]
  /** Whether the slices hold all measured events, and fewer than asked for were measured. */
  readonly isWhole: boolean
  /** Whether all of it is read between two turns. */
  readonly isSmall: boolean
}

/**
 * Plans which of the measured events are read, and how many at once: the first ones that have
 * `maxBytes` together, and the very first in any case. `limit` is the number asked for.
 */
export function planSlices(
  sizes: readonly EventSize[],
  limit: number,
  maxBytes: number,
): SlicePlan {
  const slices: EventSlice[] = []
  let total = 0
  let planned = 0
  for (const size of sizes) {
    const own = size.bytes + FRAME_BYTES
    total += own
    if (total > maxBytes && planned > 0) break
    planned += 1
    const last = slices.at(-1)
    const { sequence } = size
    if (last === undefined || last.bytes + own > SLICE_BYTES)
      slices.push({ after: sequence - 1, through: sequence, limit: 1, bytes: own })
    else {
      const bytes = last.bytes + own
      slices[slices.length - 1] = { ...last, through: sequence, limit: last.limit + 1, bytes }
    }
  }
  return {
    slices,
    isWhole: planned === sizes.length && sizes.length < limit,
    isSmall: total <= SLICE_BYTES,
  }
}

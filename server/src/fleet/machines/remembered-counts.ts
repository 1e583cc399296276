import { threadTimeMs } from '../../work/thread-time.ts'
import { createLruCache } from '../../platform/lru-cache.ts'

/** Processor time from which on a count is remembered, in milliseconds. */
const LONG_MS = 100
/** A count is given again for so many times as it took, and for ten seconds at most. */
const TIMES = 10
const MOST_MS = 10_000
const MAX_COUNTS = 1_000

/**
 * Caches counts of large fleets for a while. A user who watches a fleet asks every few seconds, and
 * must not occupy the processor. A fleet that is counted quickly is counted anew each time.
 */
export interface RememberedCounts<Count> {
  /** Null without a recent count. */
  find(key: string): Count | null
  /** The recent count, or else a new one by `count`. */
  take(key: string, count: () => Promise<Count>): Promise<Count>
}

export interface RememberedCountDeps {
  /** A monotonic clock. */
  readonly monotonicMs: () => number
  /** Processor time so far. */
  readonly spentMs?: () => number
}

export function createRememberedCounts<Count>({
  monotonicMs,
  spentMs = threadTimeMs,
}: RememberedCountDeps): RememberedCounts<Count> {
  const kept = createLruCache<{ readonly count: Count; readonly untilMs: number }>(
    MAX_COUNTS,
    () => 1,
  )

  function find(key: string): Count | null {
    const known = kept.find(key)
    return known === null || monotonicMs() >= known.untilMs ? null : known.count
  }

  return {
    find,
    async take(key, work) {
      const known = find(key)
      if (known !== null) return known
      const beganMs = spentMs()
      const count = await work()
      const tookMs = spentMs() - beganMs
      const untilMs = monotonicMs() + Math.min(TIMES * tookMs, MOST_MS)
      if (tookMs >= LONG_MS) kept.keep(key, { count, untilMs })
      return count
    },
  }
}

import { LRUCache } from 'lru-cache'

const WINDOW_MS = 60_000
const MAX_KEYS = 100_000

/** Failures of each key within a minute from the first of them. */
export interface FailureCount {
  /** Whole seconds until the key may try again; 0 when it may now. */
  waitSeconds(key: string): number
  add(key: string): void
}

/**
 * Lets each key fail `most` times a minute. Remembers 100,000 keys; the least recent go first.
 * `monotonicMs` is a clock that nobody sets: a wall clock set back would prolong a wait.
 */
export function countFailures(most: number, monotonicMs: () => number): FailureCount {
  const failures = new LRUCache<string, number>({
    max: MAX_KEYS,
    // The cache keeps an entry until more than this has passed.
    ttl: WINDOW_MS - 1,
    // Without it the cache reads the clock by a timer of its own.
    ttlResolution: 0,
    noUpdateTTL: true,
    perf: { now: monotonicMs },
  })
  return {
    waitSeconds(key) {
      if ((failures.get(key) ?? 0) < most) return 0
      return Math.max(1, Math.ceil(failures.getRemainingTTL(key) / 1000))
    },
    add: (key) => void failures.set(key, (failures.get(key) ?? 0) + 1),
  }
}

import { LRUCache } from 'lru-cache'

const MAX_KEYS = 100_000

/** Attempts of each key within a window of time from the first of them. */
export interface RateLimiter {
  /** Whole seconds until the key may try again; 0 when it may now. */
  waitSeconds(key: string): number
  /** `amount` is 1 unless an attempt counts for several. */
  add(key: string, amount?: number): void
}

/**
 * Lets each key try `most` times in `windowMs`. Remembers 100,000 keys; the least recent go first.
 * `monotonicMs` is a clock that nobody sets: a wall clock set back would prolong a wait.
 */
export function createRateLimiter(
  { most, windowMs }: { readonly most: number; readonly windowMs: number },
  monotonicMs: () => number,
): RateLimiter {
  const attempts = new LRUCache<string, number>({
    // Bounded by size: for `max` keys the cache would take all of its memory at once.
    maxSize: MAX_KEYS,
    sizeCalculation: () => 1,
    // The cache keeps an entry until more than this has passed.
    ttl: windowMs - 1,
    // Without it the cache reads the clock by a timer of its own.
    ttlResolution: 0,
    noUpdateTTL: true,
    perf: { now: monotonicMs },
  })
  return {
    waitSeconds(key) {
      if ((attempts.get(key) ?? 0) < most) return 0
      return Math.max(1, Math.ceil(attempts.getRemainingTTL(key) / 1000))
    },
    add: (key, amount = 1) => void attempts.set(key, (attempts.get(key) ?? 0) + amount),
  }
}

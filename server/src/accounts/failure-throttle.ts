const MAX_FAILURES = 20
const WINDOW_MS = 60_000
/** About 15 MB when full. */
const MAX_KEYS = 100_000

/** Counts failures by key (an account, an address) within a minute from the first of them. */
export interface FailureThrottle {
  /** Whole seconds until the key may try again; 0 when it may now. */
  retryAfterSeconds(key: string): number
  recordFailure(key: string): void
}

/** 20 failures a minute for each key; remembers at most 100,000 keys, the oldest go first. */
export function createFailureThrottle(now: () => Date): FailureThrottle {
  const windows = new Map<string, { endsAtMs: number; failures: number }>()

  function current(key: string) {
    const window = windows.get(key)
    if (window === undefined || now().getTime() < window.endsAtMs) return window
    windows.delete(key)
    return undefined
  }

  return {
    retryAfterSeconds(key) {
      const window = current(key)
      if (window === undefined || window.failures < MAX_FAILURES) return 0
      return Math.ceil((window.endsAtMs - now().getTime()) / 1000)
    },

    recordFailure(key) {
      const window = current(key)
      if (window !== undefined) {
        window.failures += 1
        return
      }
      // INVARIANT: windows are all equally long, so the first inserted is the first to end.
      const [oldest] = windows.keys()
      if (oldest !== undefined && windows.size >= MAX_KEYS) windows.delete(oldest)
      windows.set(key, { endsAtMs: now().getTime() + WINDOW_MS, failures: 1 })
    },
  }
}

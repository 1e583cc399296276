/** A budget of time that refills as time passes. */
export interface TimeBudget {
  /** May overdraw the budget; the debt has to be waited out. */
  spend(ms: number): void
  /** Milliseconds until the debt is paid; 0 without a debt. */
  owedMs(): number
}

/** Starts at `mostMs` and never exceeds it. `uptime` returns monotonic milliseconds. */
export function createTimeBudget(mostMs: number, uptime: () => number): TimeBudget {
  let leftMs = mostMs
  let countedMs = uptime()

  function count(): void {
    const nowMs = uptime()
    leftMs = Math.min(leftMs + nowMs - countedMs, mostMs)
    countedMs = nowMs
  }

  return {
    spend(ms) {
      count()
      leftMs -= ms
    },
    owedMs() {
      count()
      return Math.max(-leftMs, 0)
    },
  }
}

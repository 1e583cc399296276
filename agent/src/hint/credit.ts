/** Time that may be spent, which comes back as it passes. */
export interface Credit {
  /** May go below nothing; what is owed is waited for. */
  spend(ms: number): void
  /** Milliseconds until there is some again; 0 while there is. */
  owedMs(): number
}

/** `mostMs` to begin with, and never more. `uptime` is monotonic, in milliseconds. */
export function createCredit(mostMs: number, uptime: () => number): Credit {
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

/** Of each turn of the event loop, for all that waits together. */
const TURN_MS = 2

/**
 * Lets work that waits go on in later turns of the event loop, so that new requests come in
 * between.
 */
export interface LoopTurns {
  /** Whether this turn has time left for work that could wait. */
  hasTime(): boolean
  /** Calls `run` in a later turn, behind all that wait already. */
  later(run: () => void): void
}

export function createLoopTurns(): LoopTurns {
  const waiting: (() => void)[] = []
  let untilMs: number | null = null

  function begin(): void {
    if (untilMs !== null) return
    untilMs = performance.now() + TURN_MS
    setImmediate(turn)
  }

  function hasTime(): boolean {
    begin()
    return performance.now() < (untilMs ?? 0)
  }

  function turn(): void {
    untilMs = null
    if (waiting.length === 0) return
    begin()
    do waiting.shift()?.()
    while (waiting.length > 0 && hasTime())
  }

  return {
    hasTime,
    later(run) {
      waiting.push(run)
      begin()
    },
  }
}

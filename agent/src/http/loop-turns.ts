/** Time for waiting tasks in each turn of the event loop, shared by all of them. */
const TURN_MS = 2

/**
 * Spreads waiting tasks over later turns of the event loop, so that new requests are read in
 * between.
 */
export interface LoopTurns {
  /** Whether this turn has time left for a task that could wait. */
  hasTime(): boolean
  /** Calls `run` in a later turn, after all tasks that wait already. */
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

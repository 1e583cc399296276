/** Of one turn of the event loop, from the caller's first request in it. */
const LIMIT_MS = 2

/** Spreads the requests of each caller over turns of the event loop. */
export interface CallerTurns {
  /** Calls `begin` at once, or in a later turn when the caller has had its time in this one. */
  enter(caller: string, begin: () => void): void
}

/** A caller in this turn. */
interface Caller {
  startedMs: number
  readonly waiting: (() => void)[]
}

/**
 * A caller whose requests come over many connections has all of them begin in one turn, and all
 * others wait for that turn's end. Here a caller begins requests for `limitMs` of each turn, in
 * their order; the rest waits for the next turn, and other callers do not wait for it.
 */
export function createCallerTurns({
  limitMs = LIMIT_MS,
  clockMs = () => performance.now(),
  afterTurn = (work: () => void): void => void setImmediate(work),
}: {
  readonly limitMs?: number
  readonly clockMs?: () => number
  readonly afterTurn?: (work: () => void) => void
} = {}): CallerTurns {
  let callers = new Map<string, Caller>()
  let isScheduled = false

  function scheduleTurn(): void {
    if (isScheduled) return
    isScheduled = true
    afterTurn(startTurn)
  }

  function beginWaiting(caller: Caller): void {
    caller.startedMs = clockMs()
    do caller.waiting.shift()?.()
    while (caller.waiting.length > 0 && clockMs() - caller.startedMs < limitMs)
  }

  function startTurn(): void {
    isScheduled = false
    // Not deleted from: V8 links each table that a `Map` has outgrown to the next one, and once one
    // table is in the old generation all later ones stay in memory (bench: server/requests).
    callers = new Map([...callers].filter(([, { waiting }]) => waiting.length > 0))
    for (const caller of callers.values()) beginWaiting(caller)
    if (callers.size > 0) scheduleTurn()
  }

  return {
    enter(name, begin) {
      const caller = callers.get(name)
      if (caller === undefined) {
        callers.set(name, { startedMs: clockMs(), waiting: [] })
        scheduleTurn()
        begin()
      } else if (caller.waiting.length === 0 && clockMs() - caller.startedMs < limitMs) begin()
      else caller.waiting.push(begin)
    },
  }
}

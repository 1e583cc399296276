/** Most requests of one caller; the server works on one of them at a time in any case. */
const MAX_IN_FLIGHT = 16
/**
 * Callers that are kept, idle or not. No entry is deleted by itself: V8 links each table that a
 * `Map` has outgrown to the next one, and once one table is in the old generation all later ones
 * stay in memory (bench: server/poll).
 */
const LEAST_KEPT = 1024

/** Bounds how many requests of each caller are begun and not yet answered. */
export interface RequestsInFlight {
  /**
   * Calls `begin` at once, or when an earlier request of the caller has left. Returns a function
   * that makes this one leave, begun or not; to be called when its answer is sent or its connection
   * is over.
   */
  enter(caller: string, begin: () => void): () => void
}

interface Caller {
  begun: number
  readonly waiting: (() => void)[]
}

/**
 * The store has one writer and few readers, and their lines know no callers: a hundred requests of
 * one caller would stand before each request of all others. Here they stand in a line of their own.
 */
export function createRequestsInFlight(maxInFlight: number = MAX_IN_FLIGHT): RequestsInFlight {
  let callers = new Map<string, Caller>()
  let mostKept = LEAST_KEPT

  function callerOf(name: string): Caller {
    const known = callers.get(name)
    if (known !== undefined) return known
    if (callers.size >= mostKept) forgetIdle()
    const caller: Caller = { begun: 0, waiting: [] }
    callers.set(name, caller)
    return caller
  }

  function forgetIdle(): void {
    callers = new Map([...callers].filter(([, caller]) => isBusy(caller)))
    mostKept = Math.max(LEAST_KEPT, 2 * callers.size)
  }

  return {
    enter(name, begin) {
      const caller = callerOf(name)
      let state: 'waits' | 'begun' | 'left' = 'waits'
      const start = (): void => {
        caller.begun += 1
        state = 'begun'
        begin()
      }
      const leave = (): void => {
        if (state === 'waits') caller.waiting.splice(caller.waiting.indexOf(start), 1)
        if (state === 'begun') caller.begun -= 1
        state = 'left'
        if (caller.begun < maxInFlight) caller.waiting.shift()?.()
      }
      if (caller.begun < maxInFlight) start()
      else caller.waiting.push(start)
      return leave
    },
  }
}

function isBusy({ begun, waiting }: Caller): boolean {
  return begun > 0 || waiting.length > 0
}

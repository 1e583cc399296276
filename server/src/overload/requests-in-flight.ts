/** Of one caller; the server works on one of them at a time in any case. */
const MAX_IN_FLIGHT = 16

/** Bounds how many requests of each caller are begun and not yet answered. */
export interface RequestsInFlight {
  /**
   * Calls `begin` at once, or when an earlier request of the caller has left. Returns a function that
   * makes this one leave, begun or not; to be called when its answer is sent or its connection is over.
   */
  enter(caller: string, begin: () => void): () => void
}

interface Caller {
  begun: number
  readonly waiting: Set<() => void>
}

/**
 * The store has one writer and few readers, and their lines know no callers: a hundred requests of
 * one caller would stand before each request of all others. Here they stand in a line of their own.
 */
export function createRequestsInFlight(maxInFlight: number = MAX_IN_FLIGHT): RequestsInFlight {
  const callers = new Map<string, Caller>()

  return {
    enter(name, begin) {
      const caller: Caller = callers.get(name) ?? { begun: 0, waiting: new Set() }
      callers.set(name, caller)
      let state: 'waits' | 'begun' | 'left' = 'waits'
      const start = (): void => {
        caller.waiting.delete(start)
        caller.begun += 1
        state = 'begun'
        begin()
      }
      const leave = (): void => {
        if (state === 'begun') caller.begun -= 1
        state = 'left'
        caller.waiting.delete(start)
        const [next] = caller.waiting
        if (next !== undefined && caller.begun < maxInFlight) next()
        if (caller.begun === 0 && caller.waiting.size === 0 && callers.get(name) === caller)
          callers.delete(name)
      }
      if (caller.begun < maxInFlight) start()
      else caller.waiting.add(start)
      return leave
    },
  }
}

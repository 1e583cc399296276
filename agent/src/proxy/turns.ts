/** Lets the requests of one connection run one after another. */
export interface Turns {
  /** Null when too many wait on that connection already. */
  take(connection: object, run: () => Promise<void>): Promise<void> | null
}

interface Queue {
  last: Promise<unknown>
  length: number
}

/**
 * Pipelined requests have to be answered in order anyway. Run at once, they would let one connection
 * take every place. `maxWaiting` bounds the requests that are held, not the one that runs.
 */
export function createTurns(maxWaiting: number): Turns {
  const queues = new WeakMap<object, Queue>()
  return {
    take(connection, run) {
      const queue = queues.get(connection) ?? { last: Promise.resolve(), length: 0 }
      queues.set(connection, queue)
      if (queue.length > maxWaiting) return null
      // At once where nothing is before it: a refusal must be out before a parse error behind it.
      const running = queue.length === 0 ? run() : queue.last.then(run)
      queue.length += 1
      const turn = running.finally(() => (queue.length -= 1))
      queue.last = turn.catch(() => {})
      return turn
    },
  }
}

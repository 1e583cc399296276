import { createFairQueue, type LanePath } from '../fair-queue.ts'
import type { Store, StoreWriter } from '../store/store.ts'

/** Of the first level: what callers ask for, and what the server does itself. */
const [CALLERS, SERVER] = ['callers', 'server']

interface Waiting {
  readonly begin: (writer: StoreWriter) => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  /** Begun or failed: the queue may still hold it. */
  isOver: boolean
}

/**
 * The same store, whose transactions run by turns of their lanes. Drivers run them in the order of their
 * arrival, and have one writer: a hundred of one caller would run before the next one of all others.
 * Those without a lane are the server's own and have every second turn, however many callers there are.
 *
 * Each transaction of the driver takes the next item when it begins. One that cannot begin, such as by
 * a time-out of the database, fails the item that came with it, which has waited as long.
 */
export function takeTurnsWriting(store: Store): Store {
  const waiting = createFairQueue<Waiting>()

  function takeNext(): Waiting | undefined {
    let next = waiting.shift()
    while (next?.isOver === true) next = waiting.shift()
    if (next !== undefined) next.isOver = true
    return next
  }

  /** There are as many of these as items wait. `own` came with it; null for one in place of another. */
  async function runNext(own: Waiting | null): Promise<void> {
    let taken: Waiting | undefined
    try {
      const value = await store.transaction((writer) => {
        taken = takeNext()
        if (taken === undefined) throw new TypeError('there are more transactions than items')
        return taken.begin(writer)
      })
      taken?.resolve(value as never)
    } catch (error) {
      if (taken === undefined) fail(own, error)
      else taken.reject(error)
    }
  }

  function fail(own: Waiting | null, error: unknown): void {
    if (own === null) takeNext()?.reject(error)
    else if (own.isOver) void runNext(null)
    else {
      own.isOver = true
      own.reject(error)
    }
  }

  return {
    ...store,
    transaction<T>(begin: (writer: StoreWriter) => Promise<T>, lane?: LanePath): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const item: Waiting = { begin, resolve, reject, isOver: false }
      waiting.push(lane === undefined ? [SERVER] : [CALLERS, ...lane], item)
      void runNext(item)
      return promise
    },
  }
}

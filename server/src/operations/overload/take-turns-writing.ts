import { createFairQueue, type LanePath } from '../../platform/fair-queue.ts'
import type { Store, StoreWriter } from '../../store/store.ts'

/** Lanes of the first level: writes for callers, and writes of the server itself. */
const [CALLERS, SERVER] = ['callers', 'server']

/** Of items that failed: so many are left in the queue at any rate. */
const MAX_FAILED = 64

interface Waiting {
  readonly path: LanePath
  readonly begin: (writer: StoreWriter) => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  /** Begun or failed: the queue may still hold it. */
  isOver: boolean
}

/**
 * The same store, whose transactions run by turns of their lanes. Drivers run them in the order of
 * their arrival, and have one writer: a hundred of one caller would run before the next one of all
 * others. Those without a lane are the server's own and have every second turn, however many
 * callers there are.
 *
 * Each transaction of the driver takes the next item when it begins. One that cannot begin, such as
 * by a time-out of the database, fails the item that came with it, which has waited as long.
 */
export function takeTurnsWriting(store: Store): Store {
  const waiting = createFairQueue<Waiting>()
  /** Items in the queue that have failed. */
  let failed = 0

  function shiftLeft(): Waiting | undefined {
    let next = waiting.shift()
    for (; next?.isOver === true; next = waiting.shift()) failed -= 1
    return next
  }

  function takeNext(): Waiting | undefined {
    const next = shiftLeft()
    if (next !== undefined) next.isOver = true
    return next
  }

  /** Or a database that is away for long would have the requests of all that time kept. */
  function forgetFailed(): void {
    if (failed <= MAX_FAILED || failed * 2 < waiting.size()) return
    const left: Waiting[] = []
    for (let next = shiftLeft(); next !== undefined; next = shiftLeft()) left.push(next)
    for (const item of left) waiting.push(item.path, item)
  }

  /**
   * There are as many of these as items wait. `own` came with it; null for one in place of another.
   */
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
      failed += 1
      forgetFailed()
    }
  }

  return {
    ...store,
    transaction<T>(begin: (writer: StoreWriter) => Promise<T>, lane?: LanePath): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const path = lane === undefined ? [SERVER] : [CALLERS, ...lane]
      const item: Waiting = { path, begin, resolve, reject, isOver: false }
      waiting.push(path, item)
      void runNext(item)
      return promise
    },
  }
}

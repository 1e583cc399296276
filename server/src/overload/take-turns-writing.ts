import { createFairQueue, type LanePath } from '../fair-queue.ts'
import type { Store, StoreWriter } from '../store/store.ts'

/** Of the server itself. Every transaction has a lane: items outside of all lanes would come last. */
const SERVER_LANE: LanePath = ['server']

interface Waiting {
  readonly begin: (writer: StoreWriter) => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/**
 * The same store, whose transactions run by turns of their lanes. Drivers run them in the order of their
 * arrival, and have one writer: a hundred of one caller would run before the next one of all others.
 *
 * Each transaction of the driver takes the next item when it begins. One that cannot begin, such as by
 * a time-out of the database, fails the last item of the longest lane.
 */
export function takeTurnsWriting(store: Store): Store {
  const waiting = createFairQueue<Waiting>()

  async function runNext(): Promise<void> {
    let taken: Waiting | undefined
    try {
      const value = await store.transaction((writer) => {
        taken = waiting.shift()
        if (taken === undefined) throw new TypeError('there are more transactions than items')
        return taken.begin(writer)
      })
      taken?.resolve(value as never)
    } catch (error) {
      const failed = taken ?? waiting.dropLongest()
      failed?.reject(error)
    }
  }

  return {
    ...store,
    transaction<T>(begin: (writer: StoreWriter) => Promise<T>, lane = SERVER_LANE): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      waiting.push(lane, { begin, resolve, reject })
      void runNext()
      return promise
    },
  }
}

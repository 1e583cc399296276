import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Store, StoreWriter } from './store.ts'

/** Rows of one transaction; more would hold the event loop too long. */
const SLICE = 250

/**
 * For values that change often and are read seldom. The newest value of each key is kept in memory,
 * and written together with others later. A killed process loses the values that it has not
 * written.
 */
export interface WriteBehind<T> {
  record(key: string, value: T): void
  /** Writes the remaining values; no record may follow. */
  close(): Promise<void>
}

export interface WriteBehindDeps<T> {
  readonly store: Pick<Store, 'transaction'>
  readonly intervalMs: number
  /** Writes all values, or throws and has written none. */
  readonly write: (
    writer: StoreWriter,
    entries: readonly (readonly [key: string, value: T])[],
  ) => Promise<void>
  /** Called after a failed write; its values are written again in the next interval. */
  readonly onFailure: (error: unknown) => void
}

/** Writes `intervalMs` after the first value was recorded, and again after the next one. */
export function createWriteBehind<T>(deps: WriteBehindDeps<T>): WriteBehind<T> {
  const waiting = new Map<string, T>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  function flush(): void {
    timer = null
    writing = writing.then(writeAll).catch((error: unknown) => {
      deps.onFailure(error)
      schedule()
    })
  }

  function schedule(): void {
    timer ??= setTimeout(flush, deps.intervalMs).unref()
  }

  /**
   * Writes the values present at the start; values recorded meanwhile wait for the next interval.
   */
  async function writeAll(): Promise<void> {
    for (let left = waiting.size; left > 0; left -= SLICE) {
      await writeSlice(takeSlice(waiting))
      await nextTurn()
    }
  }

  async function writeSlice(slice: readonly (readonly [string, T])[]): Promise<void> {
    try {
      await deps.store.transaction((writer) => deps.write(writer, slice))
    } catch (error) {
      for (const [key, value] of slice) if (!waiting.has(key)) waiting.set(key, value)
      throw error
    }
  }

  return {
    record(key, value) {
      waiting.set(key, value)
      if (timer === null) schedule()
    },
    async close() {
      if (timer !== null) clearTimeout(timer)
      await writing
      // A failure has set it again.
      if (timer !== null) clearTimeout(timer)
      await writeAll().catch(deps.onFailure)
    },
  }
}

function takeSlice<T>(waiting: Map<string, T>): (readonly [string, T])[] {
  const slice: [string, T][] = []
  for (const entry of waiting) {
    slice.push(entry)
    waiting.delete(entry[0])
    if (slice.length >= SLICE) break
  }
  return slice
}

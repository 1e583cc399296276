import { LRUCache } from 'lru-cache'

/**
 * Rows of one kind that a writer has seen, by a key. Each kept row equals the one in the database.
 *
 * Work within a transaction may overlap (`Promise.all`). So an answer that was on its way while
 * another row was read or written is not kept: it may be older.
 */
export interface RowCache<T> {
  /** The kept row, or else the result of `load`; null is not kept. */
  read(key: string, load: () => Promise<T | null>): Promise<T | null>
  /**
   * Runs a change of the row. Returns the result of `become` for the kept row, and keeps it.
   * Returns null and keeps no row if the row was not known or `become` is absent.
   */
  write<R>(
    key: string,
    work: () => Promise<R>,
    become?: (old: T, result: R) => T,
  ): Promise<{ readonly result: R; readonly value: T | null }>
  /** From here on `undo` counts. */
  mark(): void
  /** Forgets every row kept since the mark: the writes of that time are undone. */
  undo(): void
  forget(): void
}

/** Keeps rows of together at most `maxWeight`, those used last; each weighs at least 1. */
export function createRowCache<T extends object | string>(
  maxWeight: number,
  weigh: (value: T) => number = () => 1,
): RowCache<T> {
  const entries = new LRUCache<string, T>({ maxSize: maxWeight, sizeCalculation: weigh })
  /** Some more than once. */
  let keptSince: string[] = []
  /** Changes with each write that may make an answer on its way stale. */
  let version = 0

  function drop(key: string): void {
    version += 1
    entries.delete(key)
  }

  function keep(key: string, value: T): void {
    drop(key)
    entries.set(key, value)
    keptSince.push(key)
  }

  async function readNew(key: string, load: () => Promise<T | null>): Promise<T | null> {
    const askedAt = version
    const value = await load()
    if (value !== null && version === askedAt) keep(key, value)
    return value
  }

  return {
    read(key, load) {
      const known = entries.get(key)
      return known === undefined ? readNew(key, load) : Promise.resolve(known)
    },

    async write(key, work, become) {
      const old = entries.get(key) ?? null
      drop(key)
      const begunAt = version
      try {
        const result = await work()
        const isAlone = version === begunAt
        const value = isAlone && old !== null && become ? become(old, result) : null
        if (value !== null) keep(key, value)
        else drop(key)
        return { result, value }
      } catch (error) {
        drop(key)
        throw error
      }
    },

    mark() {
      if (keptSince.length > 0) keptSince = []
    },
    undo() {
      for (const key of keptSince) drop(key)
      keptSince = []
      version += 1
    },
    forget() {
      version += 1
      entries.clear()
      keptSince = []
    },
  }
}

/**
 * Rows of one kind that a writer has seen, by a key. Each kept row equals the one in the database.
 *
 * Work within a transaction may overlap (`Promise.all`). So an answer that was on its way while
 * another row was read or written is not kept: it may be older.
 */
export interface Remembered<T> {
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

/** Keeps rows of together at most `maxWeight`, those kept last. */
export function createRemembered<T>(
  maxWeight: number,
  weigh: (value: T) => number = () => 1,
): Remembered<T> {
  const entries = new Map<string, { readonly value: T; readonly weight: number }>()
  /** Some more than once. */
  let keptSince: string[] = []
  let weight = 0
  /** Changes with each write that may make an answer on its way stale. */
  let version = 0

  function drop(key: string): void {
    version += 1
    weight -= entries.get(key)?.weight ?? 0
    entries.delete(key)
  }

  function keep(key: string, value: T): void {
    drop(key)
    const entry = { value, weight: weigh(value) }
    entries.set(key, entry)
    keptSince.push(key)
    weight += entry.weight
    // Before the first is looked for: that is behind the traces of all that were dropped.
    if (weight <= maxWeight) return
    for (const oldest of entries.keys()) {
      if (weight <= maxWeight) return
      drop(oldest)
    }
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
      return known === undefined ? readNew(key, load) : Promise.resolve(known.value)
    },

    async write(key, work, become) {
      const old = entries.get(key)?.value ?? null
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
      weight = 0
    },
  }
}

/** The values used last, by key, within a bound on what they weigh together. */
export interface Recent<V> {
  find(key: string): V | null
  keep(key: string, value: V): void
  /** The one used longest ago first. */
  values(): Iterable<V>
}

/** `weigh` says what a value counts towards `maxWeight`; one that is heavier is not kept at all. */
export function createRecent<V>(maxWeight: number, weigh: (value: V) => number): Recent<V> {
  const values = new Map<string, V>()
  let weight = 0

  function drop(key: string, value: V): void {
    values.delete(key)
    weight -= weigh(value)
  }

  return {
    find(key) {
      const value = values.get(key)
      if (value === undefined) return null
      values.delete(key)
      values.set(key, value)
      return value
    },
    keep(key, value) {
      const before = values.get(key)
      if (before !== undefined) drop(key, before)
      values.set(key, value)
      weight += weigh(value)
      for (const [oldest, dropped] of values) {
        if (weight <= maxWeight) return
        drop(oldest, dropped)
      }
    },
    values: () => values.values(),
  }
}

/**
 * The values used lately, by key, within a bound on their total weight. A key may be cut out of a
 * longer text, such as a header: it is copied, because V8 would retain the whole text.
 */
export interface Recent<V> {
  find(key: string): V | null
  keep(key: string, value: V): void
}

/**
 * `weigh` returns the share of a value in `maxWeight`; a value heavier than half of it is not kept.
 *
 * A key that is used again is found as long as those used in between weigh less than half.
 *
 * There are two generations: values that were not used while the younger one filled up are dropped
 * with the older one. An order by last use would need a write at each `find`.
 */
export function createRecent<V>(maxWeight: number, weigh: (value: V) => number): Recent<V> {
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  let youngWeight = 0

  function keep(given: string, value: V): void {
    const key = Buffer.from(given).toString()
    const weight = weigh(value)
    const before = young.get(key)
    if (before !== undefined) youngWeight -= weigh(before)
    young.delete(key)
    old.delete(key)
    if (weight > maxWeight / 2) return
    if (youngWeight + weight > maxWeight / 2) {
      old = young
      young = new Map()
      youngWeight = 0
    }
    young.set(key, value)
    youngWeight += weight
  }

  return {
    find(key) {
      const value = young.get(key)
      if (value !== undefined) return value
      const older = old.get(key)
      if (older === undefined) return null
      keep(key, older)
      return older
    },
    keep,
  }
}

/**
 * The values used lately, by key, within a bound on what they weigh together. A key may be cut out
 * of a longer text, such as a header: it is copied, because V8 would hold on to all of that.
 */
export interface Recent<V> {
  find(key: string): V | null
  keep(key: string, value: V): void
}

/**
 * `weigh` says what a value counts towards `maxWeight`; one that is heavier than half of it is not
 * kept at all.
 *
 * A key that is used again is found as long as those used in between weigh less than half.
 *
 * Two generations: whatever was not used while the younger one filled up goes with the older one.
 * An order by last use would have to be written at each `find`, which polls feel.
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

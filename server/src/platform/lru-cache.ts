import { LRUCache } from 'lru-cache'

/** The values used lately, by key, within a bound on their total weight. */
export interface LruCache<V> {
  find(key: string): V | null
  keep(key: string, value: V): void
}

/**
 * `weigh` returns the share of a value in `maxWeight`, a whole number; 0 counts as 1. A value
 * heavier than half of `maxWeight` is not kept, because it would push out most of the others.
 */
export function createLruCache<V extends object | string | number>(
  maxWeight: number,
  weigh: (value: V) => number,
): LruCache<V> {
  // Bounded by size also where each value weighs 1: for `max` keys the cache would take all of its
  // memory at once.
  const values = new LRUCache<string, V>({
    maxSize: maxWeight,
    maxEntrySize: Math.floor(maxWeight / 2),
    sizeCalculation: (value) => Math.max(1, weigh(value)),
  })
  return {
    find: (key) => values.get(key) ?? null,
    // A key may be cut out of a longer text, such as a header: V8 would retain the whole text.
    keep: (key, value) => void values.set(Buffer.from(key).toString(), value),
  }
}

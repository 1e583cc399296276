import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createLruCache } from '../../../server/src/platform/lru-cache.ts'

describe('a cache of recent values', () => {
  it('finds the last value of each key', () => {
    const recent = createLruCache<string>(4, () => 1)
    recent.keep('a', 'first')
    recent.keep('a', 'second')

    expect(recent.find('a')).toBe('second')
    expect(recent.find('b')).toBeNull()
  })

  it('keeps a value in use among any number of others', () => {
    const recent = createLruCache<number>(10, () => 1)
    recent.keep('used', 0)
    recent.keep('unused', 0)
    for (let other = 1; other <= 100; other += 1) {
      recent.keep(`other ${other}`, other)
      expect(recent.find('used')).toBe(0)
    }

    expect(recent.find('unused')).toBeNull()
  })

  it('keeps all values in use up to half of the weight', () => {
    const recent = createLruCache<number>(20, () => 1)
    const keys = Array.from({ length: 10 }, (_, index) => `key ${index}`)
    for (const [index, key] of keys.entries()) recent.keep(key, index)

    for (let turn = 0; turn < 5; turn += 1)
      expect(keys.map((key) => recent.find(key))).toEqual(keys.map((_, index) => index))
  })

  it('stays within its weight, even if the weight of a key changes', () => {
    const recent = createLruCache<{ weight: number }>(10, ({ weight }) => weight)
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index % 7}`)
    for (const [index, key] of keys.entries()) {
      recent.keep(key, { weight: 1 + (index % 5) })
      const kept = new Set(keys.slice(0, index + 1))
      // `find` moves entries, so the sum is copied before the next `keep`.
      const found = [...kept].map((each) => recent.find(each)?.weight ?? 0)
      expect(found.reduce((sum, weight) => sum + weight, 0)).toBeLessThanOrEqual(10)
    }
  })

  it('does not keep a value heavier than half, and drops the one it replaces', () => {
    const recent = createLruCache<number>(10, (value) => value)
    recent.keep('a', 5)
    recent.keep('a', 6)

    expect(recent.find('a')).toBeNull()
  })

  it('does not retain the text from which a key was cut', () => {
    const recent = createLruCache<number>(4_000, () => 1)
    const cut = (index: number) =>
      `${' '.repeat(20_000)}a key of some length: ${index}`.slice(20_000)
    const keys = Array.from({ length: 1_500 }, (_, index) => index)
    const before = heapBytes()
    for (const index of keys) recent.keep(cut(index), index)
    for (let other = 0; other < 1_000; other += 1) recent.keep(`other ${other}`, 0)

    expect(keys.filter((index) => recent.find(cut(index)) === index)).toHaveLength(1_500)

    expect(heapBytes() - before).toBeLessThan(8_000_000)
    expect(recent.find(cut(0))).toBe(0)
  })
})

/** Heap size after garbage collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createIntSets } from '../../../../packages/policy-core/src/lookup/path/int-sets.ts'
import { Transitions } from '../../../../packages/policy-core/src/lookup/path/transitions.ts'
import { everyCase } from '../../every-case.ts'

test('lists get equal numbers if and only if they are equal', () => {
  const lists = fc.array(fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 4 }), {
    maxLength: 300,
  })

  everyCase({ runs: 200 }, lists, (all) => {
    const sets = createIntSets(10_000, 100_000)
    const byText = new Map<string, number | null>()
    for (const list of all) {
      const set = sets.intern(Int32Array.from(list), list.length)
      expect(byText.get(list.join()) ?? set).toBe(set)
      expect([...sets.members(set!)]).toEqual(list)
      byText.set(list.join(), set)
    }
    expect(sets.size()).toBe(byText.size)
  })
})

test('a full store returns numbers only for lists that it holds', () => {
  const sets = createIntSets(2, 5)

  expect(sets.intern(Int32Array.of(1, 2, 3), 3)).toBe(0)
  expect(sets.intern(Int32Array.of(4, 5, 6), 3)).toBeNull()
  expect(sets.intern(Int32Array.of(7), 1)).toBe(1)
  expect(sets.intern(Int32Array.of(8), 1)).toBeNull()
  expect(sets.intern(Int32Array.of(1, 2, 3), 3)).toBe(0)
  sets.clear()
  expect(sets.intern(Int32Array.of(8), 1)).toBe(0)
})

test('added transitions are found and others are not', () => {
  const keys = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer(), fc.integer()), {
    maxLength: 2_000,
  })

  everyCase({ runs: 50 }, keys, (all) => {
    const transitions = new Transitions(5_000)
    const added = new Map<string, number>()
    for (const [next, [key, low, high]] of all.entries()) {
      const known = added.get(`${key} ${low} ${high}`)
      expect(transitions.find(key, low, high)).toBe(known ?? -1)
      if (known === undefined && transitions.add({ key, low, high, next }))
        added.set(`${key} ${low} ${high}`, next)
    }
    for (const [text, next] of added) {
      const [key = 0, low = 0, high = 0] = text.split(' ').map(Number)
      expect(transitions.find(key, low, high)).toBe(next)
      expect(transitions.find(key + 10, low, high)).toBe(-1)
    }
  })
})

test('a full store accepts no more transitions', () => {
  const transitions = new Transitions(3)

  const taken = [1, 2, 3, 4, 5].map((low) => transitions.add({ key: 8, low, high: 0, next: low }))

  expect(taken).toEqual([true, true, true, false, false])
  expect([1, 2, 3, 4, 5].map((low) => transitions.find(8, low, 0))).toEqual([1, 2, 3, -1, -1])
})

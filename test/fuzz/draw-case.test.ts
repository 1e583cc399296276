import { describe, expect, it } from 'vitest'
import { drawCase } from './draw-case.ts'
import { FAMILIES } from './families.ts'
import { createRandom } from '../../bench/src/workload/random.ts'
import { drawSize, SIZE_CLASSES, sizeClassOf } from './size-class.ts'

const seeds = Array.from({ length: 400 }, (_, seed) => seed)

describe('drawCase', () => {
  it('draws the same case for the same seed and a different one for another seed', () => {
    expect(drawCase(7)).toEqual(drawCase(7))
    expect(drawCase(7).set).not.toEqual(drawCase(8).set)
  })

  it('draws every family within a few hundred seeds', () => {
    const small = seeds.filter((seed) => sizeClassOf(seed).to < 100)

    const drawn = new Set(small.map((seed) => drawCase(seed).family))

    expect([...drawn].toSorted()).toEqual(FAMILIES.map(({ name }) => name).toSorted())
  })

  it('asks several requests of every set and explains some of them', () => {
    for (const seed of seeds.slice(0, 50)) {
      const { asked } = drawCase(seed)
      expect(asked.length).toBeGreaterThanOrEqual(12)
      expect(asked.some(({ explained }) => explained)).toBe(true)
    }
  })
})

describe('size classes', () => {
  it('each have their share of any run of consecutive seeds', () => {
    for (const start of [0, 123_457]) {
      const counts = new Map(SIZE_CLASSES.map((each) => [each, 0]))
      for (const seed of seeds) {
        const each = sizeClassOf(start + seed)
        counts.set(each, (counts.get(each) ?? 0) + 1)
      }

      for (const [{ share }, count] of counts) expect(count).toBe(share)
    }
  })

  it('contain the sizes that are drawn from them, both ends included', () => {
    for (const each of SIZE_CLASSES) {
      const sizes = seeds.map((seed) => drawSize(each, createRandom(seed)))

      expect(Math.min(...sizes)).toBeGreaterThanOrEqual(each.from)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(each.to)
    }
  })
})

import { describe, expect, it } from 'vitest'
import { MAX_PAIRS, PairPlaces } from '../../../packages/policy-core/src/lookup/pair-places.ts'

describe('PairPlaces', () => {
  it('finds what has a place, and nothing else', () => {
    const pairs = new PairPlaces()
    const place = pairs.take(0, 443)

    expect(pairs.find(0, 443)).toBe(place)
    expect([pairs.setOf(place), pairs.portOf(place)]).toEqual([0, 443])
    expect([pairs.find(0, 80), pairs.find(443, 0), pairs.find(1, 443)]).toEqual([-1, -1, -1])
  })

  it('gives each place to one pair, also when there are more pairs than places', () => {
    const pairs = new PairPlaces()
    for (let set = 0; set < MAX_PAIRS; set += 1)
      for (const port of [0, 1, 65_535]) pairs.take(set, port)

    let found = 0
    for (let set = 0; set < MAX_PAIRS; set += 1)
      for (const port of [0, 1, 65_535]) {
        const place = pairs.find(set, port)
        if (place < 0) continue
        expect([pairs.setOf(place), pairs.portOf(place)]).toEqual([set, port])
        found += 1
      }
    expect(found).toBe(MAX_PAIRS)
  })

  it('keeps a thousand pairs that policies have', () => {
    const pairs = new PairPlaces()
    for (let set = 1; set <= 500; set += 1) for (const port of [80, 443]) pairs.take(set, port)

    const kept = Array.from({ length: 500 }, (_, at) => [
      pairs.find(at + 1, 80),
      pairs.find(at + 1, 443),
    ])
    expect(kept.flat()).not.toContain(-1)
  })
})

import { describe, expect, it } from 'vitest'
import { MAX_SETS, PortSets } from '../../../packages/policy-core/src/lookup/port-sets.ts'

const at = (set: number, port: number) => ({ set, port })

describe('PortSets', () => {
  it('finds a stored set and no other', () => {
    const sets = new PortSets()
    const kept = sets.keep(at(0, 443))

    expect(sets.find(0, 443)).toBe(kept)
    expect([sets.find(0, 80), sets.find(443, 0), sets.find(1, 443)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('stores no more sets than its limit, each under its own set and port', () => {
    const sets = new PortSets()
    for (let set = 0; set < MAX_SETS; set += 1)
      for (const port of [0, 1, 65_535]) sets.keep(at(set, port))

    let found = 0
    for (let set = 0; set < MAX_SETS; set += 1)
      for (const port of [0, 1, 65_535]) {
        const kept = sets.find(set, port)
        if (kept === undefined) continue
        expect(kept).toEqual(at(set, port))
        found += 1
      }
    expect(found).toBe(MAX_SETS)
  })

  it('stores a thousand sets as policies have them', () => {
    const sets = new PortSets()
    for (let set = 1; set <= 500; set += 1) for (const port of [80, 443]) sets.keep(at(set, port))

    const kept = Array.from({ length: 500 }, (_, n) => [
      sets.find(n + 1, 80),
      sets.find(n + 1, 443),
    ])
    expect(kept.flat()).not.toContain(undefined)
  })
})

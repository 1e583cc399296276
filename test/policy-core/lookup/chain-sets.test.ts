import { describe, expect, it } from 'vitest'
import {
  createChainSets,
  NOTHING,
  type ChainSets,
} from '../../../packages/policy-core/src/lookup/chain-sets.ts'
import { flagOf, opens, PROTECTED } from '../../../packages/policy-core/src/lookup/flags.ts'
import { MAX_PAIRS } from '../../../packages/policy-core/src/lookup/pair-places.ts'
import { denyFor } from '../../../packages/policy-core/src/lookup/verdict.ts'

const allow = flagOf('allow', 0)
const deny = flagOf('deny', 0)
const always = (everyPort: number) => ({ everyPort, byPort: null })
const VERDICT = denyFor('rule')

function groupsAt(sets: ChainSets, set: number, port: number): number[] {
  return sets.groupsOf(sets.at(set, port))
}

function flagsAt(sets: ChainSets, set: number, port: number): number {
  return sets.flagsOf(sets.at(set, port))
}

describe('createChainSets', () => {
  it('joins what a set and all its parents say', () => {
    const builder = createChainSets((group) => (group === 0 ? allow : deny))
    const parent = builder.add(NOTHING, always(0))
    const child = builder.add(parent, always(1))
    const sets = builder.finish()

    expect(groupsAt(sets, NOTHING, 443)).toEqual([])
    expect(groupsAt(sets, parent, 443)).toEqual([0])
    expect(groupsAt(sets, child, 443)).toEqual([0, 1])
    expect(flagsAt(sets, child, 443) & (allow | deny)).toBe(allow | deny)
    expect(flagsAt(sets, parent, 443) & deny).toBe(0)
  })

  it('keeps the groups of one port from all others, also those of a parent', () => {
    const builder = createChainSets(() => allow)
    const parent = builder.add(NOTHING, { everyPort: null, byPort: new Map([[443, 0]]) })
    const child = builder.add(parent, { everyPort: 1, byPort: new Map([[80, 2]]) })
    const sets = builder.finish()

    expect(groupsAt(sets, child, 443)).toEqual([0, 1])
    expect(groupsAt(sets, child, 80)).toEqual([1, 2])
    expect(groupsAt(sets, child, 22)).toEqual([1])
    expect(groupsAt(sets, parent, 80)).toEqual([])
    expect(flagsAt(sets, parent, 80)).toBe(0)
  })

  it('gives the same number again, and one for all ports that no rule names', () => {
    const builder = createChainSets(() => allow)
    const set = builder.add(NOTHING, { everyPort: 0, byPort: new Map([[443, 1]]) })
    const plain = builder.add(NOTHING, always(2))
    const sets = builder.finish()

    expect(sets.at(set, 443)).toBe(sets.at(set, 443))
    expect(sets.at(set, 1)).toBe(sets.at(set, 65_535))
    expect(sets.at(set, 1)).not.toBe(sets.at(set, 443))
    expect(sets.at(plain, 1)).toBe(sets.at(plain, 443))
  })

  it('opens a protected class for allows inside it alone', () => {
    const builder = createChainSets(() => allow)
    const outside = builder.add(NOTHING, always(0))
    const inClass = builder.enterClass(outside)
    const opened = builder.add(inClass, always(1))
    const narrower = builder.enterClass(opened)
    const sets = builder.finish()

    expect(flagsAt(sets, outside, 443) & PROTECTED).toBe(0)
    expect(flagsAt(sets, inClass, 443) & PROTECTED).toBe(PROTECTED)
    expect(opens(flagsAt(sets, inClass, 443), 0)).toBe(false)
    expect(opens(flagsAt(sets, opened, 443), 0)).toBe(true)
    expect(opens(flagsAt(sets, opened, 443), 1)).toBe(false)
    expect(opens(flagsAt(sets, narrower, 443), 0)).toBe(false)
  })

  it('opens a class on the port of the allow only', () => {
    const builder = createChainSets(() => allow)
    const set = builder.add(builder.enterClass(NOTHING), {
      everyPort: null,
      byPort: new Map([[443, 0]]),
    })
    const sets = builder.finish()

    expect(opens(flagsAt(sets, set, 443), 0)).toBe(true)
    expect(opens(flagsAt(sets, set, 80), 0)).toBe(false)
  })

  it('says the same of a set at one port after its number went to others', () => {
    const builder = createChainSets((group) => (group % 2 === 0 ? deny : allow))
    const count = 2 * MAX_PAIRS
    const added = Array.from({ length: count }, (_, group) =>
      builder.add(NOTHING, { everyPort: null, byPort: new Map([[443, group]]) }),
    )
    const sets = builder.finish()
    const first = sets.at(added[0]!, 443)
    sets.keepVerdict(first, 0, VERDICT)
    sets.keepVerdict(first, 1, VERDICT)
    expect(sets.verdictOf(first, 0)).toBe(VERDICT)

    const numbers = new Set<number>()
    for (const [group, set] of added.entries()) {
      const number = sets.at(set, 443)
      numbers.add(number)
      expect(sets.groupsOf(number)).toEqual([group])
      expect(sets.flagsOf(number) & (allow | deny)).toBe(group % 2 === 0 ? deny : allow)
    }

    expect(numbers.size).toBeGreaterThan(0.9 * MAX_PAIRS)
    expect(numbers.size).toBeLessThanOrEqual(MAX_PAIRS)
    expect(sets.groupsOf(first)).not.toEqual([0])
    expect([sets.verdictOf(first, 0), sets.verdictOf(first, 1)]).toEqual([null, null])
    expect(groupsAt(sets, added[0]!, 443)).toEqual([0])
    expect(flagsAt(sets, added[0]!, 443) & deny).toBe(deny)
  })

  it('keeps a verdict for one action of one set, until it is told to forget', () => {
    const builder = createChainSets(() => allow)
    const first = builder.add(NOTHING, always(0))
    const second = builder.add(NOTHING, always(1))
    const sets = builder.finish()

    sets.keepVerdict(second, 1, VERDICT)

    expect(sets.verdictOf(second, 1)).toBe(VERDICT)
    expect(sets.verdictOf(second, 0)).toBeNull()
    expect(sets.verdictOf(first, 1)).toBeNull()

    sets.forgetVerdicts()
    expect(sets.verdictOf(second, 1)).toBeNull()
  })
})

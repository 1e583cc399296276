import { describe, expect, it } from 'vitest'
import {
  createChainSets,
  NOTHING,
  type ChainSets,
} from '../../../packages/policy-core/src/lookup/chain-sets.ts'
import {
  flagOf,
  opens,
  PROTECTED,
  withOpening,
} from '../../../packages/policy-core/src/lookup/flags.ts'
import { MAX_SETS } from '../../../packages/policy-core/src/lookup/port-sets.ts'
import { denyFor } from '../../../packages/policy-core/src/lookup/verdict.ts'

const allow = withOpening(flagOf('allow', 0))
const deny = flagOf('deny', 0)
const always = (everyPort: number) => ({ everyPort, byPort: null })
const VERDICT = denyFor('rule')

function groupsAt(sets: ChainSets, set: number, port: number): readonly number[] {
  return sets.at(set, port).groups
}

function flagsAt(sets: ChainSets, set: number, port: number): number {
  return sets.at(set, port).flags
}

describe('createChainSets', () => {
  it('combines a set with all its parents', () => {
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

  it('limits the groups of one port to that port, including those of a parent', () => {
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

  it('returns the same set again, and one set for all ports without rules', () => {
    const builder = createChainSets(() => allow)
    const set = builder.add(NOTHING, { everyPort: 0, byPort: new Map([[443, 1]]) })
    const plain = builder.add(NOTHING, always(2))
    const sets = builder.finish()

    expect(sets.at(set, 443)).toBe(sets.at(set, 443))
    expect(sets.at(set, 1)).toBe(sets.at(set, 65_535))
    expect(sets.at(set, 1)).not.toBe(sets.at(set, 443))
    expect(sets.at(plain, 1)).toBe(sets.at(plain, 443))
  })

  it('opens a protected class only by an allow inside it', () => {
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

  it('opens a class only on the port of the allow', () => {
    const builder = createChainSets(() => allow)
    const set = builder.add(builder.enterClass(NOTHING), {
      everyPort: null,
      byPort: new Map([[443, 0]]),
    })
    const sets = builder.finish()

    expect(opens(flagsAt(sets, set, 443), 0)).toBe(true)
    expect(opens(flagsAt(sets, set, 80), 0)).toBe(false)
  })

  it('does not change a set at one port when others replace it in the cache', () => {
    const builder = createChainSets((group) => (group % 2 === 0 ? deny : allow))
    const added = Array.from({ length: 2 * MAX_SETS }, (_, group) =>
      builder.add(NOTHING, { everyPort: null, byPort: new Map([[443, group]]) }),
    )
    const sets = builder.finish()
    const first = sets.at(added[0]!, 443)
    first.verdicts = [VERDICT, null]

    const found = added.map((set) => sets.at(set, 443))

    expect(found.map(({ groups }) => groups)).toEqual(added.map((_, group) => [group]))
    for (const [group, { flags }] of found.entries())
      expect(flags & (allow | deny)).toBe(group % 2 === 0 ? deny : allow)
    expect([first.groups, first.flags & deny, first.verdicts[0]]).toEqual([[0], deny, VERDICT])

    const again = sets.at(added[0]!, 443)
    expect(again).not.toBe(first)
    expect([again.groups, again.verdicts[0]]).toEqual([[0], null])
  })

  it('stores a verdict per action and set', () => {
    const builder = createChainSets(() => allow)
    const first = builder.add(NOTHING, always(0))
    const second = builder.add(NOTHING, always(1))
    const sets = builder.finish()

    sets.at(second, 443).verdicts = [null, VERDICT]

    expect(sets.at(second, 80).verdicts).toEqual([null, VERDICT])
    expect(sets.at(first, 443).verdicts[1]).toBeNull()
  })
})

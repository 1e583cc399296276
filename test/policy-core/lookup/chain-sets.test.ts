import { describe, expect, it } from 'vitest'
import { createChainSets, NOTHING } from '../../../packages/policy-core/src/lookup/chain-sets.ts'
import { flagOf, opens, PROTECTED } from '../../../packages/policy-core/src/lookup/flags.ts'

const allow = flagOf('allow', 0)
const deny = flagOf('deny', 0)
const always = (everyPort: number) => ({ everyPort, byPort: null })

describe('createChainSets', () => {
  it('joins what a set and all its parents say', () => {
    const builder = createChainSets((group) => (group === 0 ? allow : deny))
    const parent = builder.add(NOTHING, always(0))
    const child = builder.add(parent, always(1))
    const sets = builder.finish()

    expect(sets.at(parent, 443)).toMatchObject({ groups: [0], flags: expect.any(Number) })
    expect(sets.at(child, 443).groups).toEqual([0, 1])
    expect(sets.at(child, 443).flags & (allow | deny)).toBe(allow | deny)
    expect(sets.at(parent, 443).flags & deny).toBe(0)
  })

  it('keeps the groups of one port from all others, also those of a parent', () => {
    const builder = createChainSets(() => allow)
    const parent = builder.add(NOTHING, { everyPort: null, byPort: new Map([[443, 0]]) })
    const child = builder.add(parent, { everyPort: 1, byPort: new Map([[80, 2]]) })
    const sets = builder.finish()

    expect(sets.at(child, 443).groups).toEqual([0, 1])
    expect(sets.at(child, 80).groups).toEqual([1, 2])
    expect(sets.at(child, 22).groups).toEqual([1])
    expect(sets.at(parent, 80)).toMatchObject({ groups: [], flags: 0 })
  })

  it('gives the same object again, and one for all ports that no rule names', () => {
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

    expect(sets.at(outside, 443).flags & PROTECTED).toBe(0)
    expect(sets.at(inClass, 443).flags & PROTECTED).toBe(PROTECTED)
    expect(opens(sets.at(inClass, 443).flags, 0)).toBe(false)
    expect(opens(sets.at(opened, 443).flags, 0)).toBe(true)
    expect(opens(sets.at(opened, 443).flags, 1)).toBe(false)
    expect(opens(sets.at(narrower, 443).flags, 0)).toBe(false)
  })

  it('opens a class on the port of the allow only', () => {
    const builder = createChainSets(() => allow)
    const set = builder.add(builder.enterClass(NOTHING), {
      everyPort: null,
      byPort: new Map([[443, 0]]),
    })
    const sets = builder.finish()

    expect(opens(sets.at(set, 443).flags, 0)).toBe(true)
    expect(opens(sets.at(set, 80).flags, 0)).toBe(false)
  })

  it('forgets what it made on demand beyond a limit, and makes it again', () => {
    const builder = createChainSets(() => deny)
    const chain = Array.from({ length: 2000 }).reduce<number[]>(
      (sets, _, group) => [...sets, builder.add(sets.at(-1) ?? NOTHING, always(group))],
      [],
    )
    const sets = builder.finish()
    const first = sets.at(chain[0] ?? NOTHING, 443)

    for (const [group, set] of chain.entries()) {
      expect(sets.at(set, 443).groups).toHaveLength(group + 1)
    }

    expect(sets.at(chain[0] ?? NOTHING, 443)).not.toBe(first)
    expect(sets.at(chain[0] ?? NOTHING, 443)).toEqual(first)
  })
})

import { describe, expect, it } from 'vitest'
import { createNameTable } from '../../../../../agent/src/sandbox/network/dns/name-table.ts'

/** A table of three names, each kept for ten milliseconds, and its clock. */
function smallTable() {
  const clock = { nowMs: 0 }
  return { clock, names: createNameTable(() => clock.nowMs, { names: 3, keptMs: 10 }) }
}

describe('the synthetic addresses of a sandbox', () => {
  it('lead back to their names', () => {
    const { names } = smallTable()

    const address = names.addressOf('a.test')

    expect(address).toBe('198.18.0.1')
    expect(names.nameAt('198.18.0.1')).toBe('a.test')
    expect(names.addressOf('a.test')).toBe(address)
    expect(names.addressOf('b.test')).toBe('198.18.0.2')
    expect(names.nameAt('198.18.0.3')).toBeNull()
  })

  it('are refused while all names are in recent use', () => {
    const { names, clock } = smallTable()
    for (const name of ['a', 'b', 'c']) names.addressOf(name)
    clock.nowMs = 9

    expect(names.addressOf('d')).toBeNull()
    expect(names.nameAt('198.18.0.1')).toBe('a')
    expect(names.size()).toBe(3)
  })

  it('of the name that is unused for longest make room, but are not used again', () => {
    const { names, clock } = smallTable()
    for (const name of ['a', 'b', 'c']) names.addressOf(name)
    clock.nowMs = 5
    names.addressOf('a')
    clock.nowMs = 12

    expect(names.addressOf('d')).toBe('198.18.0.4')
    expect(names.nameAt('198.18.0.2')).toBeNull()
    expect(names.nameAt('198.18.0.1')).toBe('a')
    expect(names.addressOf('b')).toBe('198.18.0.5')
    expect(names.nameAt('198.18.0.3')).toBeNull()
  })

  it('of a connection keep their name until it is over', () => {
    const { names, clock } = smallTable()
    for (const name of ['a', 'b', 'c']) names.addressOf(name)
    const releases = ['a', 'b', 'c'].map((name) => names.hold(name))
    clock.nowMs = 100

    expect(names.addressOf('d')).toBeNull()
    clock.nowMs = 1_000
    releases[1]?.()
    releases[1]?.()
    expect(names.addressOf('d')).toBeNull()
    clock.nowMs = 1_010
    expect(names.addressOf('d')).toBe('198.18.0.4')
    expect(names.nameAt('198.18.0.1')).toBe('a')
    expect(names.nameAt('198.18.0.2')).toBeNull()
  })

  it('case 60: are bounded, and no address means two names before all were used', () => {
    const clock = { nowMs: 0 }
    const names = createNameTable(() => clock.nowMs, { names: 1_000, keptMs: 10 })
    const seen = new Map<string, string>()
    let refused = 0
    for (let index = 0; index < 130_000; index += 1) {
      clock.nowMs += 0.005
      const address = names.addressOf(`n${index}.allowed.test`)
      if (address === null) {
        refused += 1
        continue
      }
      expect(seen.has(address)).toBe(false)
      seen.set(address, `n${index}`)
    }

    expect(names.size()).toBe(1_000)
    expect(refused).toBeGreaterThan(0)
    expect(seen.size + refused).toBe(130_000)
  })

  it('begin again after the last one, beside those in use', () => {
    const clock = { nowMs: 0 }
    const names = createNameTable(() => clock.nowMs, { names: 2, keptMs: 10 })
    names.addressOf('kept')
    names.hold('kept')
    let last: string | null = null
    for (let index = 0; index < (1 << 17) - 3; index += 1) {
      clock.nowMs += 11
      last = names.addressOf(`n${index}`) ?? last
    }

    expect(last).toBe('198.19.255.254')
    clock.nowMs += 11
    expect(names.addressOf('next')).toBe('198.18.0.2')
    expect(names.nameAt('198.18.0.1')).toBe('kept')
  })
})

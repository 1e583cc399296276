import { describe, expect, it } from 'vitest'
import { createOverload, UNLIMITED } from '../../../../server/src/operations/overload/overload.ts'

const LIMIT_MS = 250

function open(draws: readonly number[] = []) {
  let next = 0
  const random = (): number => draws[next++ % draws.length] ?? 0
  const overload = createOverload({ limitMs: LIMIT_MS, random })
  const note = (delayMs: number, times = 1): number => {
    // One slow second before, which alone is not an overload.
    if (delayMs > LIMIT_MS && overload.delayMs() <= LIMIT_MS) overload.note(delayMs)
    for (let n = 0; n < times; n += 1) overload.note(delayMs)
    return Math.round(overload.share() * 100)
  }
  return { overload, note }
}

describe('an overloaded server', () => {
  it('admits all requests while it is fast enough', () => {
    const { overload, note } = open()

    expect(note(LIMIT_MS, 1000)).toBe(0)

    expect([overload.askToWait('begins'), overload.askToWait('completes')]).toEqual([null, null])
    expect(overload.turnedAway()).toBe(0)
  })

  it('ignores a single slow second, as at its start or during a long computation', () => {
    const { overload } = open()

    for (let n = 0; n < 100; n += 1) {
      overload.note(10_000)
      overload.note(0)
    }

    expect(overload.share()).toBe(0)
  })

  it('refuses a share that grows with each slow second, up to all requests', () => {
    const { note } = open()

    expect([note(LIMIT_MS + 1), note(LIMIT_MS + 1), note(10_000)]).toEqual([10, 20, 30])
    expect(note(10_000, 100)).toBe(100)
  })

  it('admits more again only at half of the limit, and then gradually', () => {
    const { note } = open()
    note(LIMIT_MS + 1, 4)

    // In between the share stays, so that it does not oscillate.
    expect(note(LIMIT_MS, 100)).toBe(40)
    expect(note(LIMIT_MS / 2, 100)).toBe(40)
    expect(note(LIMIT_MS / 2 - 1)).toBe(35)
    expect(note(LIMIT_MS + 1)).toBe(45)
    expect(note(0, 9)).toBe(0)
  })

  it('refuses exactly the share', () => {
    const { overload, note } = open([0.29, 0.5, 0.31, 0.9])
    note(LIMIT_MS + 1, 3)

    expect(overload.askToWait('begins')).not.toBeNull()
    expect(overload.askToWait('begins')).toBeNull()
    expect(overload.turnedAway()).toBe(1)
  })

  it('completes updates until more than half of new requests are refused', () => {
    const { overload, note } = open([0.15])
    note(LIMIT_MS + 1, 5)
    expect(overload.askToWait('completes')).toBeNull()
    expect(overload.askToWait('begins')).not.toBeNull()

    note(LIMIT_MS + 1)

    expect(overload.askToWait('completes')).not.toBeNull()
  })

  it('draws the retry time from a range that grows with the share', () => {
    const longest = (times: number): number | null => {
      const { overload, note } = open([0, 0.999_999])
      note(LIMIT_MS + 1, times)
      return overload.askToWait('begins')
    }
    const shortest = (): number | null => {
      const { overload, note } = open([0])
      note(LIMIT_MS + 1, 10)
      return overload.askToWait('begins')
    }

    expect([longest(1), longest(5), longest(10)]).toEqual([57, 165, 300])
    expect(shortest()).toBe(1)
  })

  it('admits all requests without a limit', () => {
    UNLIMITED.note(1e9)

    expect(UNLIMITED.askToWait('begins')).toBeNull()
  })
})

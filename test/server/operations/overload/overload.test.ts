import { describe, expect, it } from 'vitest'
import { createOverload, UNLIMITED } from '../../../../server/src/operations/overload/overload.ts'

const LIMIT_MS = 250

function open(draws: readonly number[] = []) {
  let next = 0
  const random = (): number => draws[next++ % draws.length] ?? 0
  const overload = createOverload({ limitMs: LIMIT_MS, random })
  const note = (delayMs: number, times = 1): number => {
    // One slow second before, which by itself is none.
    if (delayMs > LIMIT_MS && overload.delayMs() <= LIMIT_MS) overload.note(delayMs)
    for (let n = 0; n < times; n += 1) overload.note(delayMs)
    return Math.round(overload.share() * 100)
  }
  return { overload, note }
}

describe('an overloaded server', () => {
  it('asks nobody to wait while it is quick enough, however long it runs', () => {
    const { overload, note } = open()

    expect(note(LIMIT_MS, 1000)).toBe(0)

    expect([overload.askToWait('begins'), overload.askToWait('completes')]).toEqual([null, null])
    expect(overload.turnedAway()).toBe(0)
  })

  it('asks nobody for one slow second, as when it starts or computes something long', () => {
    const { overload } = open()

    for (let n = 0; n < 100; n += 1) {
      overload.note(10_000)
      overload.note(0)
    }

    expect(overload.share()).toBe(0)
  })

  it('asks a share that grows each second that is too slow, up to everybody', () => {
    const { note } = open()

    expect([note(LIMIT_MS + 1), note(LIMIT_MS + 1), note(10_000)]).toEqual([10, 20, 30])
    expect(note(10_000, 100)).toBe(100)
  })

  it('serves more again only once it is twice as quick as it must be, and then little by little', () => {
    const { note } = open()
    note(LIMIT_MS + 1, 4)

    // Between the two nothing changes, or the share would swing with every second.
    expect(note(LIMIT_MS, 100)).toBe(40)
    expect(note(LIMIT_MS / 2, 100)).toBe(40)
    expect(note(LIMIT_MS / 2 - 1)).toBe(35)
    expect(note(LIMIT_MS + 1)).toBe(45)
    expect(note(0, 9)).toBe(0)
  })

  it('asks as many to wait as the share says, and no others', () => {
    const { overload, note } = open([0.29, 0.5, 0.31, 0.9])
    note(LIMIT_MS + 1, 3)

    expect(overload.askToWait('begins')).not.toBeNull()
    expect(overload.askToWait('begins')).toBeNull()
    expect(overload.turnedAway()).toBe(1)
  })

  it('finishes what was begun until more than half of what begins is turned away', () => {
    const { overload, note } = open([0.15])
    note(LIMIT_MS + 1, 5)
    expect(overload.askToWait('completes')).toBeNull()
    expect(overload.askToWait('begins')).not.toBeNull()

    note(LIMIT_MS + 1)

    expect(overload.askToWait('completes')).not.toBeNull()
  })

  it('draws when to come back from a range that grows with the share', () => {
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

  it('asks nobody where no limit is set', () => {
    UNLIMITED.note(1e9)

    expect(UNLIMITED.askToWait('begins')).toBeNull()
  })
})

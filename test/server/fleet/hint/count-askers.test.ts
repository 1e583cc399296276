import { describe, expect, it } from 'vitest'
import { countAskers } from '../../../../server/src/fleet/hint/count-askers.ts'

describe('machines that ask for hints', () => {
  it('are counted once each, by organization, for two to four minutes', () => {
    let nowMs = 5_000
    const askers = countAskers(() => nowMs, 10)
    for (let time = 0; time < 5; time += 1) for (const id of ['d1', 'd2']) askers.note('acme', id)
    askers.note('__proto__', 'd1')
    expect([askers.count('acme'), askers.count('__proto__'), askers.count('x')]).toEqual([2, 1, 0])

    nowMs += 2 * 60_000
    askers.note('acme', 'd3')
    expect(askers.count('acme')).toBe(2)

    nowMs += 2 * 60_000
    expect([askers.count('acme'), askers.count('__proto__')]).toEqual([1, 0])

    nowMs += 10 * 60_000
    expect(askers.count('acme')).toBe(0)
  })

  it('are remembered up to a limit', () => {
    const askers = countAskers(() => 0, 10)
    for (let id = 0; id < 1_000; id += 1) askers.note('acme', `d${id}`)
    expect(askers.count('acme')).toBe(10)
  })
})

import { describe, expect, it } from 'vitest'
import { countHintCallers } from '../../../../server/src/fleet/hint/hint-callers.ts'

describe('machines that ask for hints', () => {
  it('are counted once each, by organization, for two to four minutes', () => {
    let nowMs = 5_000
    const callers = countHintCallers(() => nowMs, 10)
    for (let time = 0; time < 5; time += 1) for (const id of ['d1', 'd2']) callers.note('acme', id)
    callers.note('__proto__', 'd1')
    expect([callers.count('acme'), callers.count('__proto__'), callers.count('x')]).toEqual([
      2, 1, 0,
    ])

    nowMs += 2 * 60_000
    callers.note('acme', 'd3')
    expect(callers.count('acme')).toBe(2)

    nowMs += 2 * 60_000
    expect([callers.count('acme'), callers.count('__proto__')]).toEqual([1, 0])

    nowMs += 10 * 60_000
    expect(callers.count('acme')).toBe(0)
  })

  it('are remembered up to a limit', () => {
    const callers = countHintCallers(() => 0, 10)
    for (let id = 0; id < 1_000; id += 1) callers.note('acme', `d${id}`)
    expect(callers.count('acme')).toBe(10)
  })
})

import { describe, expect, it } from 'vitest'
import { planRun } from '../../bench/src/plan.ts'
import { readOptions } from '../../bench/src/read-options.ts'

describe('readOptions', () => {
  it('reads both arguments', () => {
    expect(readOptions([])).toEqual({ quick: false, only: null })
    expect(readOptions(['--quick', '--only', 'paths'])).toEqual({ quick: true, only: 'paths' })
  })

  it('says what to write instead of an unknown group or argument', () => {
    expect(readOptions(['--only', 'ports'])).toBe(
      '`--only ports` names no group; write one of hosts, addresses, paths, compile, organization',
    )
    expect(readOptions(['--fast'])).toContain('write `[--quick]')
  })
})

describe('planRun', () => {
  it('holds only what was asked for', () => {
    const kinds = (only: 'compile' | 'hosts') =>
      new Set(planRun(true, only).cases.map((each) => ('domain' in each ? each.domain : each.kind)))

    expect(kinds('hosts')).toEqual(new Set(['hosts']))
    expect(planRun(true, 'compile').cases.every(({ kind }) => kind === 'compile')).toBe(true)
  })

  it('ends within five minutes, and within forty seconds when quick', () => {
    expect(planRun(false, null).totalMs).toBeLessThanOrEqual(300_000)
    expect(planRun(true, null).totalMs).toBeLessThanOrEqual(40_000)
  })
})

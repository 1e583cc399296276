import { describe, expect, it } from 'vitest'
import { DOMAIN_NAMES, nameOfCase, WORST_INPUTS } from '../../bench/src/case.ts'
import { BOUNDS, KIND_SIZES } from '../../bench/src/goals/bounds.ts'
import { planRun, type Group } from '../../bench/src/plan.ts'
import { readOptions } from '../../bench/src/read-options.ts'

describe('readOptions', () => {
  it('reads both arguments', () => {
    const subject = 'decisions'
    expect(readOptions([])).toEqual({ subject, quick: false, only: null })
    expect(readOptions(['--quick', '--only', 'paths'])).toEqual({
      subject,
      quick: true,
      only: 'paths',
    })
  })

  it('reads what to measure instead of decisions', () => {
    const subject = 'server'
    expect(readOptions(['server'])).toEqual({ subject, quick: false, only: null })
    expect(readOptions(['server', '--only', 'large'])).toEqual({
      subject,
      quick: false,
      only: 'large',
    })
    expect(readOptions(['server', '--only', 'paths'])).toContain('write one of requests, start')
    expect(readOptions(['agent', '--quick'])).toEqual({ subject: 'agent', quick: true, only: null })
    expect(readOptions(['agent', '--only', 'large'])).toContain('write one of start, rest')
    expect(readOptions(['hints'])).toEqual({ subject: 'hints', quick: false, only: null })
    expect(readOptions(['machine'])).toContain('write `server`, `agent` or `hints`')
    expect(readOptions(['server', 'agent'])).toContain('is nothing to measure')
  })

  it('says what to write instead of an unknown group or argument', () => {
    expect(readOptions(['--only', 'ports'])).toBe(
      '`--only ports` names no group; write one of hosts, addresses, paths, connect, compile, organization, worst',
    )
    expect(readOptions(['--fast'])).toContain('write `[server|agent|hints] [--quick]')
  })
})

describe('planRun', () => {
  it('holds only what was asked for', () => {
    const only = (group: Group) => planRun(true, group).cases.map((planned) => planned.case)
    const domains = only('hosts').map((each) => ('domain' in each ? each.domain : each.kind))

    expect(new Set(domains)).toEqual(new Set(['hosts']))
    expect(new Set(only('compile').map(({ kind }) => kind))).toEqual(
      new Set(['first compile', 'compile']),
    )
    expect(only('worst').every(({ kind }) => kind === 'first decision')).toBe(true)
  })

  it('takes single readings in several processes', () => {
    const { cases } = planRun(false, 'worst')

    expect(cases.every(({ runs }) => runs >= 5)).toBe(true)
  })

  it('measures everything that the goals are about', () => {
    const measured = planRun(false, null).cases.map((planned) => nameOfCase(planned.case))

    expect(measured).toEqual(
      expect.arrayContaining([
        ...DOMAIN_NAMES.flatMap((domain) => [
          ...[10, ...BOUNDS[domain].limit.sizes].map((size) => `${domain} ${size} mixed fresh`),
          ...BOUNDS[domain].compileSizes.map((size) => `first compile ${domain} ${size}`),
          ...BOUNDS[domain].compileSizes.map((size) => `compile ${domain} ${size}`),
          ...KIND_SIZES.map((size) => `${domain} ${size} hostile, one by one`),
        ]),
        ...WORST_INPUTS.map((input) => `first decision: ${input}`),
      ]),
    )
  })

  it('ends within ten minutes, and within one when quick', () => {
    expect(planRun(false, null).totalMs).toBeLessThanOrEqual(600_000)
    expect(planRun(true, null).totalMs).toBeLessThanOrEqual(60_000)
  })
})

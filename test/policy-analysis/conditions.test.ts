import { compare, isNoWider, lint } from '@palisade/policy-analysis'
import { compilePolicy, type Policy } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { expiring, NOON, policy, rule } from '../policy-core/decision/expiring-rules.ts'

describe('a time is required', () => {
  const compiled = compilePolicy({ policies: expiring })
  const missing = { code: 'ERR_OPTION_INVALID', message: expect.stringMatching(/^`now`: /) }

  it.each([undefined, Number.NaN, Infinity, '2026', null])('of a finite number, not %s', (time) => {
    const now = time as number

    for (const ask of [
      () => compare(compiled, compilePolicy({ policies: [] }), { now }),
      () => isNoWider(compilePolicy({ policies: [] }), compiled, { now }),
      () => lint({ policies: expiring }, { now }),
    ])
      expect(ask).toThrow(expect.objectContaining(missing))
  })
})

describe('isNoWider', () => {
  it('finds an allow that outlives its former expiry', () => {
    const before = compilePolicy({ policies: expiring })
    const after = compilePolicy({ policies: [policy('pol_1', [rule('r1', 'api.example.com')])] })

    expect(isNoWider(before, after, { now: NOON - 1 })).toMatchObject({
      answer: 'no',
      at: NOON,
      before: { decision: 'deny' },
      after: { decision: 'allow' },
    })
    expect(isNoWider(after, before, { now: NOON - 1 })).toEqual({ answer: 'yes' })
  })

  it('is unknown after a hundred expiries', () => {
    const many = Array.from({ length: 150 }, (_, index) =>
      rule(`r${index}`, `a${index}.test`, new Date(NOON + index).toISOString()),
    )
    const compiled = compilePolicy({ policies: [policy('pol_1', many)] })

    expect(isNoWider(compiled, compiled, { now: NOON - 1 })).toMatchObject({ answer: 'unknown' })
  })
})

describe('a set that observes', () => {
  it('is not compared', () => {
    const observing = compilePolicy({ policies: [], default: 'observe' })
    const enforcing = compilePolicy({ policies: [] })

    for (const ask of [
      () => compare(observing, observing),
      () => compare(enforcing, observing),
      () => isNoWider(observing, enforcing),
    ])
      expect(ask).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
  })
})

describe('a set with grants', () => {
  it('is not compared, because they open less than rules', () => {
    const grant = {
      id: 'acr_1',
      action: 'connect:tcp',
      resources: ['api.example.com:443'],
      not_before: '2026-11-26T11:00:00Z',
      expires_at: '2026-11-26T22:00:00Z',
    } as const
    const granted = compilePolicy({ policies: [], grants: [grant] })
    const alone = compilePolicy({ policies: [] })
    const invalid = expect.objectContaining({ code: 'ERR_OPTION_INVALID' })

    expect(() => compare(granted, alone, { now: NOON })).toThrow(invalid)
    expect(() => isNoWider(alone, granted, { now: NOON })).toThrow(invalid)
  })
})

describe('lint', () => {
  const codesOf = (policies: readonly Policy[]) =>
    lint({ policies }, { now: NOON })
      .filter(({ code }) => code !== 'apex_not_covered')
      .map(({ code, rules }) => `${code} ${rules[0]?.rule_id}`)

  it('finds expired rules', () => {
    expect(codesOf(expiring)).toEqual(['expired r1'])
    expect(lint({ policies: expiring }, { now: NOON - 1 })).toEqual([])
  })

  it('calls a rule redundant only beside one that expires no earlier', () => {
    const [early, late] = ['2026-11-26T13:00:00Z', '2026-11-26T14:00:00Z']
    const twice = (wide: string | undefined, narrow: string | undefined) =>
      codesOf([
        policy('pol_1', [rule('r1', '*.example.com', wide), rule('r2', 'api.example.com', narrow)]),
      ])

    expect(twice(undefined, early)).toEqual(['redundant r2'])
    expect(twice(late, early)).toEqual(['redundant r2'])
    expect(twice(late, undefined)).toEqual([])
    expect(twice(early, late)).toEqual([])
    expect(twice('2026-11-26T12:00:00Z', undefined)).toEqual(['expired r1'])
  })

  it('keeps the later of two equal resources', () => {
    const both = (first: string | undefined, second: string | undefined) =>
      codesOf([policy('pol_1', [rule('r1', 'a.test', first), rule('r2', 'a.test', second)])])

    expect(both('2026-11-26T13:00:00Z', undefined)).toEqual(['duplicate_resource r1'])
    expect(both(undefined, '2026-11-26T13:00:00Z')).toEqual(['duplicate_resource r2'])
  })

  it('never lets a shadow policy make an enforced rule redundant or shadowed', () => {
    const enforced = policy('pol_1', [rule('r1', 'api.example.com')])

    for (const decision of ['allow', 'deny'] as const) {
      const rules = [rule('r2', '*.example.com', undefined, decision)]
      expect(codesOf([enforced, policy('pol_2', rules, 'shadow')])).toEqual([])
      expect(codesOf([enforced, policy('pol_2', rules)])).toEqual([
        decision === 'allow' ? 'redundant r1' : 'shadowed r1',
      ])
    }
  })
})

import {
  compare,
  compilePolicy,
  decide,
  explain,
  isNoWider,
  lint,
  makeSelfTest,
  nextExpiry,
  pathDenies,
  runSelfTest,
  type Policy,
  type Rule,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'

const NOON = Date.parse('2026-11-26T12:00:00Z')
const REQUEST = { action: 'connect:tcp', host: 'api.example.com', port: 443 }

function rule(
  id: string,
  resource: string,
  expires_at?: string,
  decision: Rule['decision'] = 'allow',
): Rule {
  const action = resource.startsWith('/') ? 'read' : 'connect:tcp'
  const base = { id, name: id, actions: [action] as const, decision, resources: [resource] }
  return expires_at === undefined ? base : { ...base, expires_at }
}

function policy(id: string, rules: readonly Rule[], mode?: string): Policy {
  return { id, name: id, mode, allowlist_v0: { rules } }
}

const expiring = [policy('pol_1', [rule('r1', 'api.example.com', '2026-11-26T12:00:00Z')])]

describe('a time is required', () => {
  const compiled = compilePolicy({ policies: expiring })
  const missing = { code: 'ERR_OPTION_INVALID', message: expect.stringMatching(/^`now`: /) }

  it.each([undefined, Number.NaN, Infinity, '2026', null])('of a finite number, not %s', (time) => {
    const now = time as number

    for (const ask of [
      () => decide(compiled, REQUEST, { now }),
      () => decide(compiled, null, { now }),
      () => explain(compiled, REQUEST, { now }),
      () => pathDenies(compiled, { now }),
      () => nextExpiry(compiled, now),
      () => compare(compiled, compilePolicy({ policies: [] }), { now }),
      () => isNoWider(compilePolicy({ policies: [] }), compiled, { now }),
      () => lint({ policies: expiring }, { now }),
    ])
      expect(ask).toThrow(expect.objectContaining(missing))
  })

  it('only when a rule expires', () => {
    const shadow = { policies: [policy('pol_1', [rule('r1', 'a.test')], 'shadow')] }

    for (const set of [shadow, { ...shadow, default: 'observe' }, { policies: [] }])
      expect(() => decide(compilePolicy(set), REQUEST)).not.toThrow()
  })

  it('before a getter of the request runs', () => {
    let hasRun = false
    const request = {
      get action() {
        hasRun = true
        return 'read'
      },
    }

    expect(() => decide(compiled, request)).toThrow('`now`')
    expect(hasRun).toBe(false)
  })
})

describe('an invalid expiry', () => {
  it.each([null, 0, NOON, '', 'tomorrow', '2026-11-26T12:00:00+01:00', {}, ['2026']])(
    'is a problem of the rule: %j',
    (value) => {
      const bad = { ...rule('r1', 'a.test'), expires_at: value as string }

      expect(() => compilePolicy({ policies: [policy('pol_1', [bad])] })).toThrow(
        expect.objectContaining({
          code: 'ERR_POLICY_INVALID',
          problems: [expect.objectContaining({ rule_id: 'r1', member: 'expires_at' })],
        }),
      )
    },
  )
})

describe('nextExpiry', () => {
  it('returns the first instant after the time', () => {
    const compiled = compilePolicy({
      policies: [
        policy('pol_1', [
          rule('r1', 'a.test', '2026-11-26T13:00:00Z'),
          rule('r2', 'b.test', '2026-11-26T12:00:00Z'),
          rule('r3', 'c.test'),
        ]),
      ],
    })

    expect(nextExpiry(compiled, NOON - 1)).toBe(NOON)
    expect(nextExpiry(compiled, NOON)).toBe(NOON + 3_600_000)
    expect(nextExpiry(compiled, NOON + 3_600_000)).toBeNull()
  })
})

describe('explain', () => {
  it('shows expired rules and rules of shadow policies as inactive', () => {
    const compiled = compilePolicy({
      policies: [...expiring, policy('pol_2', [rule('r2', '*.example.com')], 'shadow')],
    })

    const { matched, near_misses } = explain(compiled, REQUEST, { now: NOON })

    expect(matched).toMatchObject([
      { rule_id: 'r1', active: false, deciding: false, expired: true },
      { rule_id: 'r2', active: false, deciding: false, shadow: true },
    ])
    expect(near_misses).toMatchObject([
      { rule_id: 'r2', miss: 'shadow' },
      { rule_id: 'r1', miss: 'expired' },
    ])
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

describe('the self-test', () => {
  it('holds for expired rules, shadow policies and every default', () => {
    const allows = policy('pol_1', [
      rule('r1', '*.example.com', '2020-01-01T00:00:00Z'),
      rule('r2', '10.0.0.0/8'),
    ])
    const shadow = policy('pol_2', [rule('r3', '/data/**', undefined, 'deny')], 'shadow')
    const policies = [allows, shadow]
    const compiled = compilePolicy({ policies, default: 'observe' })

    for (const each of policies) {
      const vectors = makeSelfTest(each)
      expect(vectors.length).toBeGreaterThan(2)
      expect(runSelfTest({ compiled }, each, vectors)).toBeNull()
    }
  })

  it('fails for an expired rule that is read differently', () => {
    const expired = policy('pol_1', [rule('r1', '*.example.com', '2020-01-01T00:00:00Z')])
    const other = policy('pol_1', [rule('r1', '*.example.org', '2020-01-01T00:00:00Z')])

    const compiled = compilePolicy({ policies: [other] })

    expect(runSelfTest({ compiled }, expired, makeSelfTest(expired))).not.toBeNull()
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

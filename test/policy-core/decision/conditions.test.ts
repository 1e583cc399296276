import {
  compilePolicy,
  decide,
  explain,
  makeSelfTest,
  nextExpiry,
  pathDenies,
  runSelfTest,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { expiring, NOON, policy, rule } from './expiring-rules.ts'

const REQUEST = { action: 'connect:tcp', host: 'api.example.com', port: 443 }

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

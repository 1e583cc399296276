import { checkRule, compilePolicy, PolicyError } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatPolicy } from '../../../../server/src/store/aggregates/policies/format-policy.ts'
import { createKnownRules } from '../../../../server/src/governance/known-rules.ts'
import {
  requireCompilable,
  requireCompilablePolicy,
  requireCompilableWith,
} from '../../../../server/src/governance/compilation/require-compilable.ts'
import type { PolicyRecord, RuleRecord } from '../../../../server/src/store/records.ts'
import { addressPatterns } from '../../../policy-core/arbitraries/address.ts'
import { namePatterns } from '../../../policy-core/arbitraries/name.ts'
import { pathPatterns } from '../../../policy-core/arbitraries/path.ts'
import { casesOfRun } from '../../../lanes/run-size.ts'

const POLICY: PolicyRecord = {
  id: 'pol_1',
  org: 'acme',
  name: 'p',
  teams: [],
  created_at: '2026-11-21T08:00:00Z',
  updated_at: '2026-11-21T08:00:00Z',
  revision: 1,
  rules: [],
}

/** Resources of either domain, and invalid ones. */
function resources(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: namePatterns() },
    { weight: 3, arbitrary: addressPatterns() },
    { weight: 3, arbitrary: pathPatterns() },
    fc.constantFrom('', '*', '/', '~', '/a/', 'https://a.example', '10.0.0.1/8', '::1', '[::1]'),
    fc.string(),
  )
}

function rules(): fc.Arbitrary<Omit<RuleRecord, 'id' | 'name'>> {
  return fc.record({
    actions: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(['connect:tcp'], ['connect:udp', 'connect:tcp']) },
      { weight: 6, arbitrary: fc.constantFrom(['read'], ['write', 'read']) },
      fc.constantFrom(['connect:tcp', 'read'], ['read', 'connect:udp']),
    ) as fc.Arbitrary<RuleRecord['actions']>,
    decision: fc.constantFrom('allow' as const, 'deny' as const),
    resources: fc.array(resources(), { minLength: 1, maxLength: 3 }),
  })
}

/** Policies that an older release may have stored: any rule may be refused now. */
function policies(): fc.Arbitrary<PolicyRecord> {
  return fc.array(rules(), { maxLength: 4 }).map((bodies) => ({
    ...POLICY,
    rules: bodies.map((body, index) => ({ id: `rule_${index}`, name: `r${index}`, ...body })),
  }))
}

interface Refusal {
  readonly message: string
  readonly field: string | undefined
}

function refusalOf(work: () => void): Refusal | null {
  try {
    work()
    return null
  } catch (error) {
    const { message, field } = error as Refusal
    return { message, field }
  }
}

/** The expected refusal: first of the caller's own rule, then of the policy as a whole. */
function expectedRefusal(policy: PolicyRecord, rule: RuleRecord): Refusal | null {
  const [own] = checkRule(rule)
  if (own !== undefined) return { message: own.message, field: own.member }
  try {
    compilePolicy({ policies: [formatPolicy(policy)] })
    return null
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const [{ message, member, rule_id } = { message: '', member: '', rule_id: '' }] = error.problems
    return { message, field: rule_id === rule.id ? member : undefined }
  }
}

describe('a policy with a new rule', () => {
  it('is refused exactly like the whole policy when rules are added one by one', () => {
    fc.assert(
      fc.property(
        policies(),
        fc.array(rules(), { minLength: 1, maxLength: 4 }),
        (policy, bodies) => {
          const known = createKnownRules()
          let { rules: before } = policy
          for (const [index, body] of bodies.entries()) {
            const rule: RuleRecord = { id: `rule_new${index}`, name: `new${index}`, ...body }
            const old = { ...policy, rules: before }
            const changed = { ...policy, rules: [...before, rule] }

            const refusal = refusalOf(() => requireCompilableWith(known, old, rule))

            expect(refusal).toEqual(expectedRefusal(changed, rule))
            if (refusal !== null) continue
            // The store returns new records.
            before = structuredClone(changed.rules)
          }
        },
      ),
      { numRuns: casesOfRun(200) },
    )
  })

  it('is refused exactly when the whole policy does not compile, with the same message', () => {
    const known = createKnownRules()
    fc.assert(
      fc.property(policies(), rules(), (policy, body) => {
        const rule: RuleRecord = { id: 'rule_new', name: 'new', ...body }
        const changed = { ...policy, rules: [...policy.rules, rule] }

        const refusal = refusalOf(() => requireCompilable(known, changed, rule, null))
        // Valid rules are not checked again.
        const again = refusalOf(() => requireCompilable(known, changed, rule, null))

        expect(refusal).toEqual(expectedRefusal(changed, rule))
        expect(again).toEqual(refusal)
      }),
      { numRuns: casesOfRun(400) },
    )
  })

  it('is refused in a document exactly when the whole policy does not compile', () => {
    const known = createKnownRules()
    fc.assert(
      fc.property(policies(), (policy) => {
        const compiles =
          refusalOf(() => compilePolicy({ policies: [formatPolicy(policy)] })) === null

        const refusal = refusalOf(() => requireCompilablePolicy(known, policy, null))

        expect(refusal === null).toBe(compiles)
      }),
      { numRuns: casesOfRun(400) },
    )
  })

  it('is refused for an old rule that is no longer valid, without a field of the new one', () => {
    const known = createKnownRules()
    const old = { id: 'rule_old', name: 'old', decision: 'allow' } as const
    const bad: RuleRecord = { ...old, actions: ['connect:tcp'], resources: ['https://a.example'] }
    const rule: RuleRecord = { ...bad, id: 'rule_new', resources: ['a.example'] }

    const refusal = refusalOf(() =>
      requireCompilable(known, { ...POLICY, rules: [bad, rule] }, rule, null),
    )

    expect(refusal?.message).toContain('`https://a.example`')
    expect(refusal?.field).toBeUndefined()
  })
})

import {
  ACTIONS,
  compilePolicy,
  makeSelfTest,
  runSelfTest,
  type Policy,
  type PolicySet,
  type Rule,
  type SelfTestVector,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policySets } from '../arbitraries/policy-set.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'
import { referenceDecide } from '../reference/reference-decide.ts'
import { readPolicySet } from '../reference/reference-rules.ts'

describe('the vectors of a policy', () => {
  it('pass beside any other policies, on any machine', { timeout: LAW_TIMEOUT_MS }, () => {
    everyCase({ runs: 1000 }, policySets(), ({ set, options }, tally) => {
      const { home } = set
      const compiled = compilePolicy({ ...set, governed: true }, options)

      for (const policy of set.policies ?? []) {
        const vectors = makeSelfTest(policy)

        expect(runSelfTest({ compiled, home }, policy, vectors)).toBeNull()
        tally(vectors.length > 4 ? 'many' : 'few')
      }
    })
  })

  it('agree with the reference on each rule separately', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 250 }, policySets(), ({ set, options }, tally) => {
      const { home } = set
      const vectors = (set.policies ?? []).flatMap((policy) =>
        makeSelfTest(policy).map((vector) => ({ policy, vector })),
      )

      for (const { policy, vector } of vectors) {
        const request = requestOf(vector, home)
        if (request === null) continue
        for (const { place, kind } of saidBy(vector)) {
          const alone = readPolicySet({ policies: [onlyRule(policy, place)], home }, options)

          expect(matches(referenceDecide(alone, request).reason, kind)).toBe(true)
          tally(kind)
        }
      }
    })

    expect(outcomes.rarerThan({ match: 0.1, miss: 0.1 })).toEqual([])
  })

  it('fail when a rule is lost or inverted', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 800 },
      fc.tuple(policySets(), fc.nat(3), fc.constantFrom('lost', 'inverted')),
      ([{ set, options }, at, how], tally) => {
        const [policy] = set.policies ?? []
        const rules = policy?.allowlist_v0?.rules ?? []
        if (policy === undefined) return
        const place = at % rules.length
        const changed = how === 'lost' ? withoutRule(policy, place) : inverted(policy, place)
        const compiled = compilePolicy(alone(set, changed), options)

        const failure = runSelfTest({ compiled, home: set.home }, policy, makeSelfTest(policy))
        tally(failure === null ? 'passed' : 'failed')
      },
    )

    // A change without effect passes: a rule that another one hides, or `~` without a home.
    expect(outcomes.rarerThan({ failed: 0.7 })).toEqual([])
  })

  it('are few, short and reproducible for any input', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 1000 }, hostilePolicies(), (policy, tally) => {
      const vectors = makeSelfTest(policy)

      expect(vectors.length).toBeLessThanOrEqual(12)
      expect(JSON.stringify(vectors).length).toBeLessThanOrEqual(4096 + 100)
      expect(makeSelfTest(policy)).toEqual(vectors)
      tally(vectors.length === 0 ? 'none' : 'some')
    })

    expect(outcomes.rarerThan({ none: 0.1, some: 0.1 })).toEqual([])
  })
})

function saidBy({ match, miss }: SelfTestVector) {
  return [
    ...match.map((place) => ({ place, kind: 'match' as const })),
    ...miss.map((place) => ({ place, kind: 'miss' as const })),
  ]
}

/** Returns null for a request below `~` without a home. */
function requestOf(vector: SelfTestVector, home: string | undefined): unknown {
  if (vector.kind === 'connect') {
    const { action, host, port, address } = vector
    return address === undefined ? { action, host, port } : { action, host, port, address }
  }
  const { action, path } = vector
  if (!path.startsWith('~')) return { action, path }
  return home === undefined ? null : { action, path: `${home}${path.slice(1)}` }
}

/** Whether a reason agrees with a match or a miss. A protected address is denied in either case. */
function matches(reason: string, kind: 'match' | 'miss'): boolean {
  return reason === 'protected_address' || reason === (kind === 'match' ? 'rule' : 'default_deny')
}

function withRules(policy: Policy, change: (rules: readonly Rule[]) => readonly Rule[]): Policy {
  return { ...policy, allowlist_v0: { rules: change(policy.allowlist_v0?.rules ?? []) } }
}

function onlyRule(policy: Policy, place: number): Policy {
  return withRules(policy, (rules) => rules.slice(place, place + 1))
}

function withoutRule(policy: Policy, place: number): Policy {
  return withRules(policy, (rules) => rules.toSpliced(place, 1))
}

function inverted(policy: Policy, place: number): Policy {
  return withRules(policy, (rules) =>
    rules.map((rule, at) =>
      at === place ? { ...rule, decision: rule.decision === 'deny' ? 'allow' : 'deny' } : rule,
    ),
  )
}

function alone(set: PolicySet, policy: Policy): PolicySet {
  return { ...set, governed: true, policies: [policy], local: [] }
}

/**
 * Rules with arbitrary texts that a server would reject, and with valid texts in the wrong place.
 */
function hostilePolicies(): fc.Arbitrary<Policy> {
  const stars = fc.constantFrom('**', '*', '/', '~', '.', ':', '[', ']', '%', '\0', '\ud800')
  const names = fc.constantFrom('example.com', 'xn--', '\u00df', '\u0430', '\u3002', 'İ')
  const numbers = fc.constantFrom('10.0.0.0/8', '::ffff:0:0/96', '64:ff9b::', '443', '65535')
  const piece = fc.oneof(stars, names, numbers)
  const written = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''))
  const deep = fc.constantFrom('/**'.repeat(9), '/*'.repeat(64), `${'a.'.repeat(120)}test`)
  const sound = fc.constantFrom('*.example.com:443', '10.0.0.0/8', '64:ff9b::/96', '/a/**/b*', '~')
  const text = fc.oneof(
    { weight: 12, arbitrary: sound },
    written,
    deep,
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  const rule = fc.record({
    id: fc.constantFrom('rule_1', 'rule_2', '__proto__', '-1', 'constructor'),
    name: fc.constant('hostile'),
    actions: fc.oneof(
      fc.subarray(['connect:tcp', 'connect:udp'] as const, { minLength: 1 }),
      fc.array(fc.constantFrom(...ACTIONS), { maxLength: 3 }),
    ),
    decision: fc.constantFrom('allow', 'deny'),
    resources: fc.array(text, { maxLength: 4 }),
  })
  return fc.array(rule, { maxLength: 6 }).map((rules) => ({
    id: 'pol_1',
    name: 'hostile',
    allowlist_v0: { rules },
  }))
}

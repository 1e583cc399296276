import { compare, isNoWider } from '@palisade/policy-analysis'
import {
  compilePolicy,
  decide,
  explain,
  nextExpiry,
  pathDenies,
  policyAt,
  type Policy,
  type PolicySet,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conditionalSets, INSTANTS } from './arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from './arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from './every-case.ts'
import { referenceDecide } from './reference/reference-decide.ts'
import { readPolicySet } from './reference/reference-rules.ts'

const REQUESTS = 20

describe('expiry, mode and default', () => {
  it('decide ≡ reference at every time', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 6000, casesPerRun: REQUESTS },
      fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
      ([{ set, options, now }, choices], tally) => {
        const compiled = compilePolicy(set, options)
        const reference = readPolicySet(set, options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const { hint: _, ...decision } = decide(compiled, request, { now })

          expect(decision).toStrictEqual(referenceDecide(reference, request, now))
          tally(`${decision.decision} ${decision.reason}`)
          if (decision.shadow) tally(`${decision.shadow.decision} in the shadow`)
        }
      },
    )

    expect(
      outcomes.rarerThan({
        'allow rule': 0.07,
        'allow observed': 0.05,
        'deny rule': 0.03,
        'deny default_deny': 0.1,
        'deny protected_address': 0.02,
        'deny invalid_request': 0.02,
        'allow in the shadow': 0.02,
        'deny in the shadow': 0.01,
      }),
    ).toEqual([])
  })

  it(
    'an expired rule decides like no rule, whatever was decided before',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 1500, casesPerRun: REQUESTS * 4 },
        fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
        ([{ set, options }, choices], tally) => {
          const compiled = compilePolicy(set, options)

          // Back and forth, so that kept selections and verdicts of another time would show.
          for (const now of [-1, ...INSTANTS, 0]) {
            const unexpired = compilePolicy(withoutExpired(set, now), options)
            for (const choice of choices) {
              const request = requestFrom(set, choice)
              const decision = decide(compiled, request, { now })

              expect(decision).toStrictEqual(decide(unexpired, request))
              tally(decision.decision)
            }
          }
        },
      )

      expect(outcomes.rarerThan({ allow: 0.15, deny: 0.15 })).toEqual([])
    },
  )

  it(
    'no decision changes before the next expiry, nor those of policyAt ever',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 1200, casesPerRun: REQUESTS },
        fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
        ([{ set, options, now }, choices], tally) => {
          const compiled = compilePolicy(set, options)
          const frozen = policyAt(compiled, now)
          const next = nextExpiry(compiled, now)
          const last = next === null ? Number.MAX_SAFE_INTEGER : next - 1

          expect(next === null || next > now).toBe(true)
          for (const choice of choices) {
            const request = requestFrom(set, choice)
            const decision = decide(compiled, request, { now })

            expect(decide(compiled, request, { now: last })).toStrictEqual(decision)
            expect(decide(frozen, request)).toStrictEqual(decision)
            expect(policyAt(compiled, last)).toBe(frozen)
            tally(next === null ? 'settled' : 'expiring')
          }
        },
      )

      expect(outcomes.rarerThan({ settled: 0.1, expiring: 0.15 })).toEqual([])
    },
  )

  it('a shadow policy changes nothing but the member `shadow`', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1200, casesPerRun: REQUESTS },
      fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
      ([{ set, options, now }, choices], tally) => {
        const compiled = compilePolicy(set, options)
        const enforced = compilePolicy(withPolicies(set, isEnforced), options)
        const all = compilePolicy(
          withPolicies(set, () => true, 'enforce'),
          options,
        )

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const { shadow, ...decision } = decide(compiled, request, { now })
          const would = decide(all, request, { now })

          expect(decision).toStrictEqual(decide(enforced, request, { now }))
          const { decision: kind, reason } = decision
          expect(would).toMatchObject(shadow ?? { decision: kind, reason })
          tally(shadow ? 'differs' : 'same')
        }
      },
    )

    expect(outcomes.rarerThan({ differs: 0.03, same: 0.15 })).toEqual([])
  })

  it('observe allows default denies and nothing else', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1200, casesPerRun: REQUESTS },
      fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
      ([{ set, options, now }, choices], tally) => {
        const enforcing = compilePolicy({ ...set, default: 'enforce' }, options)
        const observing = compilePolicy({ ...set, default: 'observe', governed: true }, options)
        const governed = compilePolicy({ ...set, default: 'x', governed: true }, options)
        const own = compilePolicy({ ...set, default: 'observe', governed: false }, options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const strict = decide(governed, request, { now })
          const decision = decide(observing, request, { now })

          const observed = { decision: 'allow', reason: 'observed', rules: [] }
          const { shadow: _, ...same } = strict
          expect(decision).toMatchObject(strict.reason === 'default_deny' ? observed : same)
          expect(decide(own, request, { now }).reason).not.toBe('observed')
          expect(decide(enforcing, request, { now }).reason).not.toBe('observed')
          tally(decision.reason)
        }
      },
    )

    expect(outcomes.rarerThan({ observed: 0.1, rule: 0.1, protected_address: 0.02 })).toEqual([])
  })

  it('explain agrees with decide and marks each rule', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1000, casesPerRun: REQUESTS },
      fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
      ([{ set, options, now }, choices], tally) => {
        const compiled = compilePolicy(set, options)
        const expired = rulesOf(set).filter(({ expiresMs }) => expiresMs <= now)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const explained = explain(compiled, request, { now })
          const { matched, near_misses: _n, detail: _d, ...decision } = explained

          expect(decision).toStrictEqual(decide(compiled, request, { now }))
          const deciding = matched.filter((match) => match.deciding)
          expect(deciding.map(({ rule_id }) => rule_id)).toEqual(
            decision.rules.map(({ rule_id }) => rule_id),
          )
          for (const match of matched) {
            const key = `${match.policy_id} ${match.rule_id}`
            expect(match.expired === true).toBe(expired.some((rule) => rule.key === key))
            const isLapsed = match.expired === true || match.shadow === true
            expect(isLapsed && (match.active || match.deciding)).toBe(false)
            tally(match.expired ? 'expired' : match.shadow ? 'shadow' : 'in force')
          }
        }
      },
    )

    expect(outcomes.rarerThan({ expired: 0.05, shadow: 0.05, 'in force': 0.15 })).toEqual([])
  })

  it('pathDenies holds the denies in force', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1000, casesPerRun: REQUESTS },
      fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
      ([{ set, options, now }, choices], tally) => {
        const compiled = compilePolicy(set, options)
        const denies = pathDenies(compiled, { now })

        for (const choice of choices) {
          const { request, reason, decision } = decide(compiled, requestFrom(set, choice), { now })
          if (request === null || !('path' in request)) continue

          const isDenied = denies.at(request.path).denies[request.action]
          expect(isDenied).toBe(decision === 'deny' && reason === 'rule')
          tally(isDenied ? 'denied' : 'not denied')
        }
      },
    )

    expect(outcomes.rarerThan({ denied: 0.02, 'not denied': 0.15 })).toEqual([])
  })

  it('compare finds the change of each expiry and mode', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 300, casesPerRun: REQUESTS },
      fc.tuple(conditionalSets(), requestChoices(REQUESTS)),
      ([{ set: observing, options, now }, choices], tally) => {
        const set = { ...observing, default: undefined }
        const before = compilePolicy(set, options)
        const after = compilePolicy(withoutExpired(withPolicies(set, isEnforced), now), options)
        const open = compilePolicy(
          withPolicies(set, () => true, 'enforce'),
          options,
        )

        expect(compare(before, after, { now })).toMatchObject({ reachable: [], blocked: [] })
        const { answer } = isNoWider(before, open, { now })
        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const was = decide(before, request, { now }).decision
          const isOpened = was === 'deny' && decide(open, request, { now }).decision === 'allow'
          expect(isOpened && answer === 'yes').toBe(false)
        }
        tally(answer)
      },
    )

    expect(outcomes.rarerThan({ yes: 0.1, no: 0.05 })).toEqual([])
  })
})

function isEnforced({ mode }: Policy): boolean {
  return mode !== 'shadow'
}

function withPolicies(
  set: PolicySet,
  keeps: (policy: Policy) => boolean,
  mode?: string,
): PolicySet {
  const select = (policies: readonly Policy[] = []) =>
    policies.filter(keeps).map((policy) => (mode === undefined ? policy : { ...policy, mode }))
  return { ...set, policies: select(set.policies), local: select(set.local) }
}

/** The rest without any expiry. */
function withoutExpired(set: PolicySet, now: number): PolicySet {
  const select = (policies: readonly Policy[] = []) =>
    policies.map((policy) => ({
      ...policy,
      allowlist_v0: {
        rules: (policy.allowlist_v0?.rules ?? []).flatMap(({ expires_at, ...rule }) =>
          expires_at === undefined || Date.parse(expires_at) > now ? [rule] : [],
        ),
      },
    }))
  return { ...set, policies: select(set.policies), local: select(set.local) }
}

function rulesOf({ policies = [], local = [] }: PolicySet) {
  return [...policies, ...local].flatMap((policy) =>
    (policy.allowlist_v0?.rules ?? []).map(({ id, expires_at }) => ({
      key: `${policy.id} ${id}`,
      expiresMs: expires_at === undefined ? Infinity : Date.parse(expires_at),
    })),
  )
}

import { compilePolicy, decide, type Policy, type PolicySet } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostileRequest, trap } from './arbitraries/hostile.ts'
import { extraPolicies, policySets } from './arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from './arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from './every-case.ts'
import { referenceDecide } from './reference/reference-decide.ts'
import { readPolicySet } from './reference/reference-rules.ts'

const REQUESTS = 20
const bothOutcomes = { allow: 0.15, deny: 0.15 }

describe('decide', () => {
  it('decide ≡ reference', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 4500, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS)),
      ([{ set, options }, choices], tally) => {
        const compiled = compilePolicy(set, options)
        const reference = readPolicySet(set, options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const { hint: _, ...decision } = decide(compiled, request)

          expect(decision).toStrictEqual(referenceDecide(reference, request))
          tally(`${decision.decision} ${decision.reason}`)
        }
      },
    )

    expect(
      outcomes.rarerThan({
        'allow rule': 0.15,
        'deny rule': 0.1,
        'deny default_deny': 0.15,
        'deny protected_address': 0.03,
        'deny invalid_request': 0.03,
      }),
    ).toEqual([])
  })

  it('the order of rules and policies is irrelevant', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 600, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS), fc.infiniteStream(fc.nat())),
      ([{ set, options }, choices, order], tally) => {
        const compiled = compilePolicy(set, options)
        const shuffled = compilePolicy(inOtherOrder(set, order), options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const decision = decide(compiled, request)

          expect(decide(shuffled, request)).toStrictEqual(decision)
          tally(decision.decision)
        }
      },
    )

    expect(outcomes.rarerThan(bothOutcomes)).toEqual([])
  })

  it('adding a deny never turns a deny into an allow', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 800, casesPerRun: REQUESTS },
      fc.tuple(policySets(), extraPolicies('deny'), requestChoices(REQUESTS), fc.boolean()),
      ([{ set, options }, extra, choices, isLocal], tally) => {
        const before = compilePolicy(set, options)
        const after = compilePolicy(withPolicy(set, extra, isLocal), options)

        for (const request of requestsAround(extra, set, choices)) {
          const outcome = decide(before, request).decision
          const outcomeAfter = decide(after, request).decision

          expect([outcome, outcomeAfter]).not.toEqual(['deny', 'allow'])
          tally(outcome)
          if (outcome !== outcomeAfter) tally('changed')
        }
      },
    )

    expect(outcomes.rarerThan({ ...bothOutcomes, changed: 0.001 })).toEqual([])
  })

  it('adding an allow never turns an allow into a deny', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 800, casesPerRun: REQUESTS },
      fc.tuple(policySets(), extraPolicies('allow'), requestChoices(REQUESTS), fc.boolean()),
      ([{ set, options }, extra, choices, isLocal], tally) => {
        const before = compilePolicy(set, options)
        const after = compilePolicy(withPolicy(set, extra, isLocal), options)

        for (const request of requestsAround(extra, set, choices)) {
          const outcome = decide(before, request).decision
          const outcomeAfter = decide(after, request).decision

          expect([outcome, outcomeAfter]).not.toEqual(['allow', 'deny'])
          tally(outcome)
          if (outcome !== outcomeAfter) tally('changed')
        }
      },
    )

    expect(outcomes.rarerThan({ ...bothOutcomes, changed: 0.01 })).toEqual([])
  })

  it(
    'a local rule on a governed machine only ever denies more',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 600, casesPerRun: REQUESTS },
        fc.tuple(policySets(), extraPolicies('allow'), requestChoices(REQUESTS)),
        ([{ set, options }, extra, choices], tally) => {
          const governed = { ...set, governed: true }
          const alone = compilePolicy({ ...governed, local: [] }, options)
          const withLocal = withPolicy(governed, extra, true)
          const compiled = compilePolicy(withLocal, options)

          for (const request of requestsAround(extra, set, choices)) {
            const outcome = decide(alone, request).decision

            const outcomeAfter = decide(compiled, request).decision

            expect([outcome, outcomeAfter]).not.toEqual(['deny', 'allow'])
            tally(outcome)
          }
        },
      )

      expect(outcomes.rarerThan(bothOutcomes)).toEqual([])
    },
  )

  it(
    'the canonical request has the same decision as the request',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 800, casesPerRun: REQUESTS },
        fc.tuple(policySets(), requestChoices(REQUESTS)),
        ([{ set, options }, choices], tally) => {
          const compiled = compilePolicy(set, options)

          for (const choice of choices) {
            const request = requestFrom(set, choice)
            const decision = decide(compiled, request)

            expect(decide(compiled, decision.request ?? request)).toStrictEqual(decision)
            tally(decision.decision)
          }
        },
      )

      expect(outcomes.rarerThan(bothOutcomes)).toEqual([])
    },
  )

  it(
    'decide answers any value and decides its canonical request alike',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const requests = fc.array(anythingAsked(), { minLength: 10, maxLength: 10 })
      const outcomes = everyCase(
        { runs: 1200, casesPerRun: 10 },
        fc.tuple(policySets(), requests),
        ([{ set, options }, asked], tally) => {
          const compiled = compilePolicy(set, options)

          for (const request of asked) {
            const decision = decide(compiled, typeof request === 'function' ? request() : request)

            expect(decision.request === null).toBe(decision.reason === 'invalid_request')
            expect([decision.decision, decision.reason]).not.toEqual(['allow', 'invalid_request'])
            const again = decision.request === null ? decision : decide(compiled, decision.request)
            expect(again).toStrictEqual(decision)
            tally(decision.request === null ? 'invalid' : 'valid')
          }
        },
      )

      expect(outcomes.rarerThan({ valid: 0.1, invalid: 0.15 })).toEqual([])
    },
  )

  it(
    'the hint of a default deny, added as a rule, allows the request',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 800, casesPerRun: REQUESTS },
        fc.tuple(policySets(), requestChoices(REQUESTS)),
        ([{ set, options }, choices], tally) => {
          const compiled = compilePolicy(set, options)

          for (const choice of choices) {
            const request = requestFrom(set, choice)
            const { reason, hint } = decide(compiled, request)
            if (reason !== 'default_deny') continue

            tally(hint === null ? 'unhinted' : 'hinted')
            if (hint === null) continue
            const followed = compilePolicy(
              withPolicy(set, policyOf(hint), !isGoverned(set)),
              options,
            )
            expect(decide(followed, request)).toMatchObject({ decision: 'allow', reason: 'rule' })
          }
        },
      )

      expect(outcomes.rarerThan({ hinted: 0.15, unhinted: 0 })).toEqual([])
    },
  )
})

/**
 * Any value: arbitrary values, arbitrary texts in members, and functions that create objects with
 * traps.
 */
function anythingAsked(): fc.Arbitrary<unknown> {
  const letters = fc.constantFrom(...'abcab.1x:%*-\u00df\u3002\u00ad\ud800\0 ')
  return fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
    fc.record({
      action: fc.constant('write'),
      path: fc.string({ unit: 'binary' }).map((s) => `/${s}`),
    }),
    fc.record({
      action: fc.constant('connect:tcp'),
      host: fc.string({ unit: letters, maxLength: 5 }),
      port: fc.constant(443),
    }),
    hostileRequest(),
    trap(),
  )
}

/** Requests of which one in four targets the added rule. */
function requestsAround(
  extra: Policy,
  set: PolicySet,
  choices: readonly Parameters<typeof requestFrom>[1][],
): unknown[] {
  const alone = { ...set, policies: [extra], local: [] }
  return choices.map((choice, index) => requestFrom(index % 4 === 0 ? alone : set, choice))
}

function withPolicy(set: PolicySet, policy: Policy, isLocal: boolean): PolicySet {
  return isLocal
    ? { ...set, local: [policy, ...(set.local ?? [])] }
    : { ...set, policies: [policy, ...(set.policies ?? [])] }
}

function isGoverned(set: PolicySet): boolean {
  return set.governed ?? set.policies !== undefined
}

/** Parses `allow <action> <resource>`. The resource may contain spaces. */
function policyOf(hint: string): Policy {
  const [, action, resource] = /^allow (\S+) (.*)$/s.exec(hint) ?? []
  return {
    id: 'pol_hint',
    name: 'hint',
    allowlist_v0: {
      rules: [
        {
          id: 'rule_hint',
          name: 'hint',
          actions: [action as 'read'],
          decision: 'allow',
          resources: [resource ?? ''],
        },
      ],
    },
  }
}

function inOtherOrder(set: PolicySet, order: Iterable<number>): PolicySet {
  const numbers = order[Symbol.iterator]()
  const shuffled = <T>(values: readonly T[]): T[] =>
    values
      .map((value) => ({ value, place: Number(numbers.next().value) }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ value }) => value)
  const policies = (list: readonly Policy[] = []) =>
    shuffled(list).map((policy) => ({
      ...policy,
      allowlist_v0: { rules: shuffled(policy.allowlist_v0?.rules ?? []) },
    }))
  return { ...set, policies: policies(set.policies), local: policies(set.local) }
}

import {
  compileInSteps,
  compilePolicy,
  decide,
  PolicyError,
  runSteps,
  type Policy,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policySets } from '../arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from '../arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'

const REQUESTS = 10
const RULES = 2_000

/** One policy for each kind of rule. */
function largePolicies(): Policy[] {
  const policyOf = (
    id: string,
    action: 'connect:tcp' | 'read',
    resource: (at: number) => string,
  ) => ({
    id,
    name: id,
    allowlist_v0: {
      rules: Array.from({ length: RULES }, (_, at) => ({
        id: `${id}_${at}`,
        name: `${id} ${at}`,
        actions: [action],
        decision: 'allow' as const,
        resources: [resource(at)],
      })),
    },
  })
  return [
    policyOf('exact', 'connect:tcp', (at) => `a${at}.test`),
    policyOf('below', 'connect:tcp', (at) => `**.b${at}.test`),
    policyOf('address', 'connect:tcp', (at) => `203.${at >> 8}.${at & 255}.0/24`),
    policyOf('path', 'read', (at) => `/data/${at}/**`),
  ]
}

describe('compileInSteps', () => {
  it('decides as compilePolicy does', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 500, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS)),
      ([{ set, options }, choices], tally) => {
        const whole = compilePolicy(set, options)
        // Another policy decides between any two steps.
        const steps = compileInSteps(set, options)
        const firstRequest = requestFrom(set, choices[0]!)
        let step = steps.next()
        for (; step.done !== true; step = steps.next()) decide(whole, firstRequest)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const decision = decide(step.value, request)

          expect(decision).toStrictEqual(decide(whole, request))
          tally(decision.decision)
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.15, deny: 0.15 })).toEqual([])
  })

  it('pauses in proportion to the number of rules', () => {
    const steps = compileInSteps({ policies: largePolicies() })
    let pauses = 0
    while (steps.next().done !== true) pauses += 1

    // Every rule is read, grouped and indexed, about a hundred per step.
    expect(pauses).toBeGreaterThan((4 * RULES * 3) / 200)
  })

  it.each([
    // Reading, the table, grouping, placing the names and finding their sets.
    ['exact', 5],
    ['below', 5],
    // Flattening and the prefixes. The sort and the search take one step each.
    ['address', 6],
  ])('pauses in each pass over rules of the kind %s', (id, passes) => {
    const policies = largePolicies().filter((policy) => policy.id === id)
    const steps = compileInSteps({ policies })
    let pauses = 0
    while (steps.next().done !== true) pauses += 1

    expect(pauses).toBeGreaterThanOrEqual(passes * Math.floor(RULES / 128))
  })

  it('throws as compilePolicy does', () => {
    const set = { policies: [{ ...largePolicies()[0]!, id: 7 as unknown as string }] }

    expect(() => runSteps(compileInSteps(set))).toThrow(PolicyError)
    expect(() => runSteps(compileInSteps({ policies: 7 as never }))).toThrow(PolicyError)
  })
})

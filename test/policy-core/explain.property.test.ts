import { compilePolicy, decide, explain } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policySets } from './arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from './arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from './every-case.ts'

const REQUESTS = 20

describe('explain', () => {
  it('explain agrees with decide', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 600, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS)),
      ([{ set, options }, choices], tally) => {
        const compiled = compilePolicy(set, options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const {
            matched: _m,
            near_misses: _n,
            detail: _d,
            ...decision
          } = explain(compiled, request)

          expect(decision).toStrictEqual(decide(compiled, request))
          tally(decision.decision)
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.15, deny: 0.15 })).toEqual([])
  })

  it('the deciding rules are the rules of the decision', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 600, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS)),
      ([{ set, options }, choices], tally) => {
        const compiled = compilePolicy(set, options)

        for (const choice of choices) {
          const { matched, rules, reason } = explain(compiled, requestFrom(set, choice))
          const deciding = matched.filter((match) => match.deciding)

          expect(deciding.map(({ deciding: _d, active: _a, ...match }) => match)).toEqual(rules)
          expect(deciding.every(({ active }) => active)).toBe(true)
          tally(deciding.length > 0 ? 'decided by rules' : reason)
          if (matched.length > deciding.length) tally('more matched than decided')
        }
      },
    )

    expect(
      outcomes.rarerThan({ 'decided by rules': 0.15, 'more matched than decided': 0.01 }),
    ).toEqual([])
  })

  it(
    'an inactive match is a local allow on a governed machine',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 600, casesPerRun: REQUESTS },
        fc.tuple(policySets(), requestChoices(REQUESTS)),
        ([{ set, options }, choices], tally) => {
          const governed = { ...set, governed: true }
          const compiled = compilePolicy(governed, options)

          for (const choice of choices) {
            const { matched } = explain(compiled, requestFrom(set, choice))

            for (const { active, decision, origin } of matched) {
              expect(active).toBe(origin === 'org' || decision === 'deny')
              tally(active ? 'active' : 'inactive')
            }
          }
        },
      )

      expect(outcomes.rarerThan({ active: 0.15, inactive: 0.02 })).toEqual([])
    },
  )

  it(
    'only a default deny has near misses, and a matched rule is one only when it is inactive',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 600, casesPerRun: REQUESTS },
        fc.tuple(policySets(), requestChoices(REQUESTS)),
        ([{ set, options }, choices], tally) => {
          const compiled = compilePolicy(set, options)

          for (const choice of choices) {
            const explanation = explain(compiled, requestFrom(set, choice))
            const { reason, matched, near_misses: misses } = explanation

            expect(misses.length === 0 || reason === 'default_deny').toBe(true)
            expect(misses.filter(({ decision }) => decision !== 'allow')).toEqual([])
            const inactive = misses.filter(({ miss }) => miss === 'inactive')
            for (const { miss: _m, message: _e, ...rule } of inactive)
              expect(matched).toContainEqual({ ...rule, active: false, deciding: false })
            expect(misses.length > 0 && matched.some(({ active }) => active)).toBe(false)
            tally(misses.length > 0 ? 'missed nearly' : 'not')
          }
        },
      )

      expect(outcomes.rarerThan({ 'missed nearly': 0.03 })).toEqual([])
    },
  )
})

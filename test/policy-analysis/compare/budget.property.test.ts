import { compare, isNoWider } from '@palisade/policy-analysis'
import { compilePolicy, type PolicySet } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'
import { policy, rule } from '../../policy-core/policies.ts'
import { crowdedPairs, policyPairs, type PolicyPair } from './policy-pairs.ts'

const BUDGETS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 1_000_000]

/** Nested patterns, for which the exclusion of inner ones is most of the work. */
function nestedPairs(): fc.Arbitrary<PolicyPair> {
  const name = fc
    .tuple(fc.constantFrom('', '*.', '**.'), fc.integer({ min: 0, max: 12 }), fc.nat(3))
    .map(([stars, depth, port]) => `${stars}${'a.'.repeat(depth)}test${port ? `:${port}` : ''}`)
  const path = fc
    .array(fc.constantFrom('a', '*', '**', 'a*a', '*a*'), { minLength: 1, maxLength: 6 })
    .map((segments) => `/${segments.join('/')}`)
  const set = fc
    .record({
      names: fc.array(name, { minLength: 1, maxLength: 12 }),
      closedNames: fc.array(name, { minLength: 1, maxLength: 12 }),
      paths: fc.array(path, { minLength: 1, maxLength: 5 }),
      closedPaths: fc.array(path, { minLength: 1, maxLength: 5 }),
    })
    .map(({ names, closedNames, paths, closedPaths }): PolicySet => ({
      policies: [
        policy(
          'net',
          rule('r1', 'allow', ['connect:tcp'], ...names),
          rule('r2', 'deny', ['connect:tcp'], ...closedNames),
        ),
        policy(
          'fs',
          rule('r3', 'allow', ['read'], ...paths),
          rule('r4', 'deny', ['read'], ...closedPaths),
        ),
      ],
    }))
  return fc.record({ before: set, after: set, options: fc.constant({}) })
}

function pairs(): fc.Arbitrary<PolicyPair> {
  return fc.oneof(policyPairs(), nestedPairs(), nestedPairs(), crowdedPairs())
}

describe('the budget of a comparison', () => {
  it('that suffices once also suffices when it is larger', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 150 }, pairs(), ({ before, after, options }, tally) => {
      const [older, newer] = [compilePolicy(before, options), compilePolicy(after, options)]
      let isComplete = false
      let answer = 'unknown'
      for (const maxSteps of BUDGETS) {
        const { complete } = compare(older, newer, { maxSteps })
        const noWider = isNoWider(older, newer, { maxSteps })

        expect(isComplete && !complete).toBe(false)
        expect(['unknown', noWider.answer]).toContain(answer)
        isComplete ||= complete
        answer = noWider.answer
        tally(complete ? 'complete' : 'cut')
      }
    })

    expect(outcomes.rarerThan({ complete: 0.2, cut: 0.1 })).toEqual([])
  })
})

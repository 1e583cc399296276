import { compilePolicy, decide, explain, type CompiledPolicy } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import {
  listDecision,
  listExplanation,
} from '../../../../agent/src/policy/decision/listed-rules.ts'
import { policyOf, type RuleLine } from '../../fixture/bundle.ts'

const REQUEST = { action: 'connect:tcp', host: 'a.test', port: 443 }

function compile(denies: number, allows = 0): CompiledPolicy {
  const rules = (count: number, decision: 'allow' | 'deny'): RuleLine[] =>
    Array.from({ length: count }, () => [decision, 'connect:tcp', '**.test'])
  return compilePolicy({
    policies: [policyOf(...rules(denies, 'deny'), ...rules(allows, 'allow'))],
  })
}

describe('the rules that an answer lists', () => {
  it('are all of them up to a hundred', () => {
    const policy = compile(100, 100)
    const decision = decide(policy, REQUEST)
    const explanation = explain(policy, REQUEST)

    expect(listDecision(decision)).toBe(decision)
    expect(listExplanation(explanation)).toEqual(explanation)
  })

  it('are the first hundred, with the number of the others', () => {
    const decision = decide(compile(1_001), REQUEST)

    const listed = listDecision(decision)

    expect(listed).toEqual({
      ...decision,
      rules: decision.rules.slice(0, 100),
      rules_omitted: 901,
    })
    expect(decision.rules).toHaveLength(1_001)
  })

  it('are the first hundred deciding and the first hundred other matched rules', () => {
    const explanation = explain(compile(150, 120), REQUEST)

    const { rules, matched, ...listed } = listExplanation(explanation)

    expect(listed).toMatchObject({ rules_omitted: 50, matched_omitted: 70 })
    expect(rules).toEqual(explanation.rules.slice(0, 100))
    expect(matched.filter(({ deciding }) => deciding)).toEqual(
      explanation.matched.filter(({ deciding }) => deciding).slice(0, 100),
    )
    expect(matched.filter(({ deciding }) => !deciding)).toHaveLength(100)
    expect(listExplanation(explain(compile(3, 120), REQUEST))).toMatchObject({
      matched_omitted: 20,
    })
  })
})

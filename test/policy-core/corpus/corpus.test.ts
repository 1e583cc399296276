import { checkRule, compilePolicy, decide, PolicyError } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { readPattern, readPolicySet } from '../reference/reference-rules.ts'
import { referenceDecide } from '../reference/reference-decide.ts'
import {
  expectedOf,
  nowOf,
  policySetOf,
  readCorpus,
  readRejectedPatterns,
  requestOf,
  type RejectedPattern,
} from './corpus-case.ts'

describe.each([...readCorpus()])('corpus: %s', (_subject, cases) => {
  it('gives each case a unique description', () => {
    const descriptions = cases.map(({ description }) => description)

    expect(new Set(descriptions).size).toBe(descriptions.length)
  })

  it.each(cases)('$description (reference)', (corpusCase) => {
    const set = policySetOf(corpusCase)

    const decision = referenceDecide(
      readPolicySet(set, corpusCase.options),
      requestOf(corpusCase),
      nowOf(corpusCase),
    )

    expect(decision).toStrictEqual(expectedOf(corpusCase, set, decision))
  })

  it.each(cases)('$description', (corpusCase) => {
    const set = policySetOf(corpusCase)

    const { hint: _, ...decision } = decide(
      compilePolicy(set, corpusCase.options),
      requestOf(corpusCase),
      { now: nowOf(corpusCase) },
    )

    expect(decision).toStrictEqual(expectedOf(corpusCase, set, decision))
  })
})

describe('corpus: rejected patterns', () => {
  const patterns = readRejectedPatterns().map((pattern) => ({
    ...pattern,
    title: JSON.stringify(`${pattern.action} ${pattern.resource}`),
  }))

  it.each(patterns)('$title is rejected (reference)', ({ action, resource }) => {
    expect(readPattern([action], resource)).toBeNull()
  })

  it.each(patterns)('$title is rejected with a message that quotes the resource', (pattern) => {
    const problems = checkRule(ruleWith(pattern))

    expect(problems.map(({ member }) => member)).toEqual(['resources[1]'])
    expect(problems[0]?.message).toMatch(/^[^A-Z\n]?[^\n]*[^.\n]$/)
    for (const piece of pattern.message ?? []) expect(problems[0]?.message).toContain(piece)
  })

  it.each(patterns)('$title does not compile', (pattern) => {
    const rule = { id: 'rule_1', name: 'first', ...ruleWith(pattern) }
    const policy = { id: 'pol_1', name: 'policy', allowlist_v0: { rules: [rule] } }

    const error = errorOf(() => compilePolicy({ policies: [policy] }))

    expect(error).toMatchObject({
      code: 'ERR_POLICY_INVALID',
      problems: [{ origin: 'org', policy_id: 'pol_1', rule_id: 'rule_1', member: 'resources[1]' }],
    })
  })
})

/** A rule whose first resource is valid and whose second is the rejected one. */
function ruleWith({ action, resource }: RejectedPattern) {
  const fine = action === 'read' || action === 'write' ? '/fine' : 'fine.example'
  return { actions: [action], decision: 'allow' as const, resources: [fine, resource] }
}

function errorOf(run: () => unknown): PolicyError {
  try {
    run()
  } catch (error) {
    if (error instanceof PolicyError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatPolicy } from '../../../server/src/store/aggregates/policies/format-policy.ts'
import { policyBytes, requirePolicySize } from '../../../server/src/governance/policy-limits.ts'
import { formatCanonicalJson } from '../../../server/src/history/canonical-json.ts'
import type { PolicyRecord, RuleRecord } from '../../../server/src/store/records.ts'
import { casesOfRun } from '../../lanes/run-size.ts'

function texts(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    // Each of these characters takes six bytes of JSON.
    fc.string({ unit: fc.constantFrom('\u0001', '\u001f', '\ud800'), maxLength: 12 }),
  )
}

function rules(): fc.Arbitrary<RuleRecord> {
  return fc.record({
    id: texts(),
    name: texts(),
    actions: fc.constantFrom<RuleRecord['actions']>(
      ['connect:tcp'],
      ['connect:tcp', 'connect:udp'],
    ),
    decision: fc.constantFrom('allow', 'deny'),
    resources: fc.array(texts(), { minLength: 1, maxLength: 3 }),
  })
}

function policies(): fc.Arbitrary<PolicyRecord> {
  return fc.record({
    id: texts(),
    org: texts(),
    name: texts(),
    teams: fc.array(texts(), { maxLength: 2 }),
    created_at: fc.constant('2026-11-21T08:00:00Z'),
    updated_at: fc.constant('2026-11-21T08:00:00Z'),
    revision: fc.nat(),
    rules: fc.array(rules(), { maxLength: 4 }),
  })
}

it('a policy counts as many bytes as its RFC 8785 form, and is refused above the limit', () => {
  fc.assert(
    fc.property(policies(), (policy) => {
      const bytes = Buffer.byteLength(formatCanonicalJson(formatPolicy(policy)))

      expect(policyBytes(policy)).toBe(bytes)
      expect(isTaken(bytes, policy)).toBe(true)
      expect(isTaken(bytes - 1, policy)).toBe(false)
    }),
    { numRuns: casesOfRun(300) },
  )
})

/** Tells whether the policy is within a limit of `maxPolicyBytes`. */
function isTaken(maxPolicyBytes: number, policy: PolicyRecord): boolean {
  try {
    requirePolicySize({ maxPolicies: 1, maxRules: 1, maxPolicyBytes }, policy)
    return true
  } catch {
    return false
  }
}

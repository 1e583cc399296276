import { pathLoad } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatPolicy } from '../../../server/src/governance/format-policy.ts'
import {
  createKnownRules,
  knowGrown,
  type KnownRules,
} from '../../../server/src/governance/known-rules.ts'
import {
  mostPolicyBytes,
  policyBytes,
  policyBytesWith,
  requirePolicySizeWith,
  ruleBytes,
  type AddedRule,
} from '../../../server/src/governance/policy-limits.ts'
import type { PolicyRecord, RuleRecord } from '../../../server/src/store/records.ts'
import { factorOfRun } from '../../run-size.ts'

function texts(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    // Each of these takes six bytes of JSON.
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

it('a policy has as many bytes as its JSON, also after rules of it were counted before', () => {
  const known = createKnownRules()
  fc.assert(
    fc.property(policies(), rules(), (policy, rule) => {
      const changed = { ...policy, rules: [rule, ...policy.rules.slice(1), rule] }

      for (const each of [policy, changed, policy]) {
        const bytes = Buffer.byteLength(JSON.stringify(formatPolicy(each)))
        expect(policyBytes(known, each)).toBe(bytes)
        expect(mostPolicyBytes(known, each)).toBeGreaterThanOrEqual(bytes)
      }
    }),
    { numRuns: 300 * factorOfRun() },
  )
})

it('a policy that grows rule by rule has the bytes of its JSON at each step', () => {
  fc.assert(
    fc.property(policies(), fc.array(rules(), { maxLength: 4 }), (policy, added) => {
      const known = createKnownRules()
      let grown = policy
      for (const rule of added) {
        const next = { ...grown, rules: [...grown.rules, rule] }

        const added = { rule, bytes: ruleBytes(rule) }
        const bytes = Buffer.byteLength(JSON.stringify(formatPolicy(next)))
        expect(policyBytesWith(known, grown, added)).toBe(bytes)
        expect(isTaken(known, bytes, grown, added)).toBe(true)
        expect(isTaken(known, bytes - 1, grown, added)).toBe(false)
        // As the store gives it back.
        const after = structuredClone(next.rules)
        knowGrown(known, grown.rules, { after, bytes: added.bytes, pathLoad: pathLoad(after) })
        grown = { ...next, rules: after }
        expect(policyBytes(known, grown)).toBe(bytes)
        expect(mostPolicyBytes(known, grown)).toBeGreaterThanOrEqual(bytes)
      }
    }),
    { numRuns: 300 * factorOfRun() },
  )
})

/** Whether the rule may be added to the policy when one may have `maxPolicyBytes`. */
function isTaken(
  knownRules: KnownRules,
  maxPolicyBytes: number,
  policy: PolicyRecord,
  added: AddedRule,
): boolean {
  const limits = { maxPolicies: 1, maxRules: 1, maxPolicyBytes }
  try {
    requirePolicySizeWith({ limits, knownRules }, policy, added)
    return true
  } catch {
    return false
  }
}

/** So long that no slack in another part makes up for it. */
const WIDEST = '\u001f'.repeat(1000)
const RULE: RuleRecord = { id: '', name: '', actions: ['read'], decision: 'deny', resources: [''] }

it.each<[string, Partial<PolicyRecord>]>([
  ['an id', { id: WIDEST }],
  ['a name', { name: WIDEST }],
  ['an organization', { org: WIDEST }],
  ['a time', { updated_at: WIDEST }],
  ['another time', { created_at: WIDEST }],
  ['a team', { teams: [WIDEST] }],
  ['many teams', { teams: Array.from({ length: 1000 }, () => '') }],
  ['the names of its members alone', { rules: [RULE] }],
  ['its first rule', { rules: [{ ...RULE, name: WIDEST }] }],
  ['another rule', { rules: [RULE, { ...RULE, resources: [WIDEST] }] }],
])('a policy is taken for no smaller than it is by %s', (_what, part) => {
  const head = { id: '', org: '', name: '', teams: [], created_at: '', updated_at: '' }
  const policy: PolicyRecord = { ...head, revision: 1, rules: [], ...part }

  const bytes = Buffer.byteLength(JSON.stringify(formatPolicy(policy)))
  expect(mostPolicyBytes(createKnownRules(), policy)).toBeGreaterThanOrEqual(bytes)
})

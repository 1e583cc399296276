import { limitExceeded } from '../http/api-error.ts'
import type { PolicyRecord, RuleRecord } from '../store/records.ts'
import { formatPolicy, formatRule } from './format-policy.ts'
import { COMMA_BYTES, knownList, knownRule, type KnownRules, type Rules } from './known-rules.ts'

/** What JSON makes of one UTF-16 code unit at most, `\u001f`. */
const MOST_BYTES_OF_UNIT = 6
/** More than all names of members and the punctuation of a policy take, and those of each team. */
const FRAME_BYTES = 256
const TEAM_FRAME_BYTES = 3

export interface PolicyLimits {
  /** In one organization. */
  readonly maxPolicies: number
  /** In one policy. */
  readonly maxRules: number
  /** UTF-8 bytes of one policy in the form of RFC 8785. */
  readonly maxPolicyBytes: number
}

/** Throws 403 when an organization with `count` policies may not have one more. */
export function requireRoomForPolicy(limits: PolicyLimits, count: number): void {
  if (count >= limits.maxPolicies)
    throw limitExceeded(`an organization may have at most ${limits.maxPolicies} policies`)
}

/** Throws 403 when a policy may not have `count` rules. */
export function requireRuleCount(limits: PolicyLimits, count: number): void {
  if (count > limits.maxRules)
    throw limitExceeded(`a policy may have at most ${limits.maxRules} rules`)
}

/** What the size of a policy is judged by. */
export interface SizeDeps {
  readonly limits: PolicyLimits
  readonly knownRules: KnownRules
}

/** Throws 403 when a policy as it would become is too large. */
export function requirePolicySize({ limits, knownRules }: SizeDeps, policy: PolicyRecord): void {
  if (mostPolicyBytes(knownRules, policy) <= limits.maxPolicyBytes) return
  requirePolicyBytes(limits, policyBytes(knownRules, policy))
}

/** A rule that is to be added to a policy. */
export interface AddedRule {
  readonly rule: RuleRecord
  /** `ruleBytes` of it. */
  readonly bytes: number
}

/** The same for the policy with a rule more. */
export function requirePolicySizeWith(
  { limits, knownRules }: SizeDeps,
  policy: PolicyRecord,
  added: AddedRule,
): void {
  const most = mostPolicyBytes(knownRules, policy) + COMMA_BYTES + added.bytes
  if (most <= limits.maxPolicyBytes) return
  requirePolicyBytes(limits, policyBytesWith(knownRules, policy, added))
}

/** Throws 403 when a policy may not have `bytes`, as `policyBytes` counts them. */
export function requirePolicyBytes(limits: PolicyLimits, bytes: number): void {
  if (bytes > limits.maxPolicyBytes)
    throw limitExceeded(`a policy may have at most ${limits.maxPolicyBytes} bytes of JSON`)
}

/**
 * Length of the RFC 8785 form. That form differs from `JSON.stringify` by the order of members
 * alone, and order does not change a length.
 */
export function policyBytes(known: KnownRules, policy: PolicyRecord): number {
  // With one rule, so that all else is there that a policy with rules has.
  const rules = policy.rules.slice(0, 1)
  const bytes = Buffer.byteLength(JSON.stringify(formatPolicy({ ...policy, rules })))
  return bytes + bytesOfRest(known, policy.rules)
}

/** `policyBytes` of the policy with a rule more. */
export function policyBytesWith(
  known: KnownRules,
  policy: PolicyRecord,
  { rule, bytes }: AddedRule,
): number {
  if (policy.rules.length === 0) return policyBytes(known, { ...policy, rules: [rule] })
  return policyBytes(known, policy) + COMMA_BYTES + bytes
}

/** At least `policyBytes`: nearly every policy is far below its limit, and is not written for that. */
export function mostPolicyBytes(known: KnownRules, policy: PolicyRecord): number {
  const { id, name, org, created_at, updated_at, teams, rules } = policy
  let units = id.length + name.length + org.length + created_at.length + updated_at.length
  for (const team of teams) units += team.length
  const head = FRAME_BYTES + TEAM_FRAME_BYTES * teams.length + MOST_BYTES_OF_UNIT * units
  const [first] = rules
  if (first === undefined) return head
  return head + bytesOfRule(known, first) + bytesOfRest(known, rules)
}

/** UTF-8 bytes of the JSON of a rule. */
export function ruleBytes(rule: RuleRecord): number {
  return Buffer.byteLength(JSON.stringify(formatRule(rule)))
}

function bytesOfRest(known: KnownRules, rules: Rules): number {
  const list = knownList(known, rules)
  if (list.restBytes !== null) return list.restBytes
  let bytes = 0
  for (const rule of rules.slice(1)) bytes += COMMA_BYTES + bytesOfRule(known, rule)
  list.restBytes = bytes
  return bytes
}

function bytesOfRule(known: KnownRules, rule: RuleRecord): number {
  const found = knownRule(known, rule)
  found.bytes ??= ruleBytes(rule)
  return found.bytes
}

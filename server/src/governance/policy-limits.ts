import { limitExceeded } from '../platform/api-error.ts'
import type { PolicyRecord } from '../store/records.ts'
import { formatDetailedPolicy } from '../store/aggregates/policies/format-policy.ts'

export interface PolicyLimits {
  /** Policies of one organization. */
  readonly maxPolicies: number
  /** Rules of one policy. */
  readonly maxRules: number
  /** UTF-8 bytes of one policy in its RFC 8785 form. */
  readonly maxPolicyBytes: number
}

/** Throws 403 when an organization with `count` policies is at its limit. */
export function requireRoomForPolicy(limits: PolicyLimits, count: number): void {
  if (count >= limits.maxPolicies)
    throw limitExceeded(`an organization may have at most ${limits.maxPolicies} policies`)
}

/** Throws 403 when `count` rules are too many for one policy. */
export function requireRuleCount(limits: PolicyLimits, count: number): void {
  if (count > limits.maxRules)
    throw limitExceeded(`a policy may have at most ${limits.maxRules} rules`)
}

/** Throws 403 when `policy`, in its new form, is too large. */
export function requirePolicySize(limits: PolicyLimits, policy: PolicyRecord): void {
  requirePolicyBytes(limits, policyBytes(policy))
}

/** Throws 403 when `bytes`, counted by `policyBytes`, are too many for one policy. */
export function requirePolicyBytes(limits: PolicyLimits, bytes: number): void {
  if (bytes > limits.maxPolicyBytes)
    throw limitExceeded(`a policy may have at most ${limits.maxPolicyBytes} bytes of JSON`)
}

/**
 * Length of the RFC 8785 form. `JSON.stringify` differs from that form in the order of members
 * only, which does not change the length.
 */
export function policyBytes(policy: PolicyRecord): number {
  return Buffer.byteLength(JSON.stringify(formatDetailedPolicy(policy)))
}

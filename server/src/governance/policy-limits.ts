import { limitExceeded } from '../platform/api-error.ts'
import type { PolicyRecord } from '../store/records.ts'
import { formatPolicy } from '../history/format-policy.ts'

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

/** Throws 403 when a policy as it would become is too large. */
export function requirePolicySize(limits: PolicyLimits, policy: PolicyRecord): void {
  requirePolicyBytes(limits, policyBytes(policy))
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
export function policyBytes(policy: PolicyRecord): number {
  return Buffer.byteLength(JSON.stringify(formatPolicy(policy)))
}

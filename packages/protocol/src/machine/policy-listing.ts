import { ACTIONS } from '@palisade/policy-core'
import { z } from 'zod'
import { AGENT_STATES } from './local-api.ts'

/** Reasons why a listed rule does not count on a machine now. */
export const INACTIVE_REASONS = [
  /** A local allow on a machine that an organization governs. */
  'governed',
  /** An allow of expired policies; only the hosts of `offline_allow` stay reachable. */
  'policy_expired',
  /** Two organizations claim the machine, so no allow counts. */
  'conflict',
  /** The time of `expires_at` has come. */
  'expired',
  /** A rule of a shadow policy, which decides nothing. */
  'shadow',
  /** A grant whose `not_before` has not come. */
  'not_begun',
  /** A grant for one use, which is spent. */
  'spent',
  /** A grant that was ended before its time, or that does not count on this machine now. */
  'revoked',
  'without_effect',
] as const
export type InactiveReason = (typeof INACTIVE_REASONS)[number]

/**
 * `GET /v1/policies` answers NDJSON: one head, then one line for each rule of the machine. All
 * lines describe the same moment. A rule of a machine without a policy in force is not listed,
 * because everything is denied.
 */
export const policyListHeadSchema = z.object({
  kind: z.literal('head'),
  state: z.enum(AGENT_STATES),
  /** Revision of the bundle in force; null while everything is denied without one. */
  revision: z.int().nullable(),
  stale: z.boolean(),
  /** Hosts in rule syntax that stay reachable after expiry, if a rule allows them. */
  offline_allow: z.array(z.string()),
  /** Number of rule lines that follow. */
  rules: z.int(),
})
export type PolicyListHead = z.infer<typeof policyListHeadSchema>

export const listedRuleSchema = z.object({
  kind: z.literal('rule'),
  /** `org` from the signed bundle, `local` from this machine, `grant` for access of the user. */
  origin: z.enum(['org', 'local', 'grant']),
  policy_id: z.string(),
  policy_name: z.string(),
  rule_id: z.string(),
  rule_name: z.string(),
  decision: z.enum(['allow', 'deny']),
  actions: z.array(z.enum(ACTIONS)),
  resources: z.array(z.string()),
  active: z.boolean(),
  /** RFC 3339 UTC; absent for a rule that never expires. */
  expires_at: z.string().optional(),
  /** Present exactly when the rule is not active. */
  inactive_reason: z.enum(INACTIVE_REASONS).optional(),
})
export type ListedRule = z.infer<typeof listedRuleSchema>

export const policyListLineSchema = z.discriminatedUnion('kind', [
  policyListHeadSchema,
  listedRuleSchema,
])
export type PolicyListLine = z.infer<typeof policyListLineSchema>

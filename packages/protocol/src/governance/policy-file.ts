import { ACTIONS } from '@palisade/policy-core'
import { z } from 'zod'

/**
 * Policies on disk for `palisade check --policies FILE`: the API's shape, with members that an
 * author cannot know (`org`, timestamps, `domain`) optional. These values are never echoed, so
 * names are taken as written.
 */
const fileRuleSchema = z.strictObject({
  id: z.string().min(1, 'must not be empty'),
  name: z.string(),
  actions: z.array(z.enum(ACTIONS)).min(1, 'must name at least one action'),
  decision: z.enum(['allow', 'deny']),
  resources: z.array(z.string()).min(1, 'must name at least one resource'),
  /** RFC 3339 in UTC; policy-core reads it. */
  expires_at: z.string().optional(),
})

const filePolicySchema = z.strictObject({
  id: z.string().min(1, 'must not be empty'),
  name: z.string(),
  org: z.string().optional(),
  scope: z.strictObject({ teams: z.array(z.string()).optional() }).optional(),
  /** `shadow` decides nothing; any other text enforces. */
  mode: z.string().optional(),
  allowlist_v0: z
    .strictObject({
      domain: z.enum(['network', 'filesystem']).optional(),
      rules: z.array(fileRuleSchema),
    })
    .optional(),
  created_at: z.string().optional(),
  updated_at: z.string().optional(),
})

export const policyFileSchema = z.strictObject({
  policies: z.array(filePolicySchema).optional(),
  local: z.array(filePolicySchema).optional(),
  /** Defaults to true when `policies` is present, even empty. */
  governed: z.boolean().optional(),
  /** Canonical absolute path that `~` stands for. */
  home: z.string().optional(),
  /** Absent means a device without a user. */
  user_teams: z.array(z.string()).optional(),
  machine_addresses: z.array(z.string()).optional(),
  /** `observe` allows what no rule matches; any other text enforces. */
  default: z.string().optional(),
})
export type PolicyFile = z.infer<typeof policyFileSchema>

import { FILESYSTEM_ACTIONS, NETWORK_ACTIONS, REASONS } from '@palisade/policy-core'
import { z } from 'zod'

const ruleMatchSchema = z.object({
  policy_id: z.string(),
  policy_name: z.string(),
  rule_id: z.string(),
  rule_name: z.string(),
  decision: z.enum(['allow', 'deny']),
  resource: z.string(),
  origin: z.enum(['org', 'local', 'grant']),
})

const canonicalRequestSchema = z.union([
  z.object({
    action: z.enum(NETWORK_ACTIONS),
    host: z.string(),
    port: z.int(),
    address: z.string().optional(),
  }),
  z.object({ action: z.enum(FILESYSTEM_ACTIONS), path: z.string() }),
])

/**
 * Why the bytes of an allowed connection do not fit its target.
 *
 * - `foreign_name`: TLS or HTTP names another server, which is not allowed there.
 * - `no_server_name`: TLS to a name on port 443 names no server.
 * - `encrypted_hello`: TLS encrypts its server name (ECH) behind another name.
 * - `http2`: HTTP/2 without TLS.
 * - `malformed`: begins like TLS or HTTP, but cannot be read without doubt.
 * - `incomplete`: does not say in time which protocol it is.
 */
export const CONTENT_FAULTS = [
  'foreign_name',
  'no_server_name',
  'encrypted_hello',
  'http2',
  'malformed',
  'incomplete',
] as const
export type ContentFault = (typeof CONTENT_FAULTS)[number]

/** The decision object on a wire; policy-core's `Decision`. */
export const decisionSchema = z
  .object({
    decision: z.enum(['allow', 'deny']),
    reason: z.enum(REASONS),
    rules: z.array(ruleMatchSchema),
    /** The decision if every shadow policy were enforced, where it differs. */
    shadow: z
      .object({
        decision: z.enum(['allow', 'deny']),
        reason: z.enum(REASONS),
        rules: z.array(ruleMatchSchema),
        address_required: z.literal(true).optional(),
      })
      .optional(),
    request: canonicalRequestSchema.nullable(),
    revision: z.int().nullable(),
    stale: z.boolean(),
    /** Set by an agent while a break-glass grant is in force, for every decision. */
    break_glass: z.literal(true).optional(),
    /** Set by an agent that closes an allowed connection for its content. */
    content: z.enum(CONTENT_FAULTS).optional(),
    address_required: z.literal(true).optional(),
    hint: z.string().nullable(),
    /** Set by an agent after a denial by the organization's policies. */
    support_message: z.string().optional(),
  })
  .meta({ id: 'Decision' })

/** A decision by the policies that a server stores. */
export type StoredDecision = z.infer<typeof decisionSchema>

/** policy-core's `Explanation` on a wire. */
export const explanationSchema = decisionSchema
  .extend({
    matched: z.array(
      ruleMatchSchema.extend({
        deciding: z.boolean(),
        active: z.boolean(),
        expired: z.literal(true).optional(),
        not_begun: z.literal(true).optional(),
        spent: z.literal(true).optional(),
        shadow: z.literal(true).optional(),
      }),
    ),
    near_misses: z.array(ruleMatchSchema.extend({ miss: z.string(), message: z.string() })),
    detail: z.string().nullable(),
  })
  .meta({ id: 'Explanation' })

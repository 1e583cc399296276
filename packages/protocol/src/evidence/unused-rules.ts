import { z } from 'zod'
import { expiresAtSchema, policyModeSchema } from '../governance/rule-life.ts'
import { pageQuerySchema } from '../page.ts'
import { timestampSchema } from '../timestamp.ts'
import { UPLOAD_MODES } from './evidence-settings.ts'

/**
 * - `never`: no kept record has it.
 * - `shadowed`: it decided no request, and would have changed decisions with the shadow policies.
 * - `gone_devices`: it decided on devices that are revoked now, and on no other.
 * - `unknown`: machines did not upload all records in which it would appear, in all of the time; or
 *   a rule for files without a record, which may hold paths below a workspace.
 * - `used`: it decided. Only expired rules are listed with it.
 */
export const RULE_USES = ['never', 'shadowed', 'gone_devices', 'unknown', 'used'] as const
export type RuleUse = (typeof RULE_USES)[number]

/** `GET /api/v1/orgs/{org}/unused-rules` */
export const unusedRulesQuerySchema = pageQuerySchema.extend({
  since: z.iso
    .datetime({
      offset: true,
      error: 'must be an RFC 3339 instant such as `2026-11-21T08:00:00Z`',
    })
    .optional()
    .meta({ description: 'Leave out records of earlier days; all kept records by default' }),
})
export type UnusedRulesQuery = z.infer<typeof unusedRulesQuerySchema>

export const unusedRuleSchema = z
  .strictObject({
    policy_id: z.string(),
    policy_name: z.string(),
    mode: policyModeSchema.exactOptional().meta({ description: 'Absent for a policy in force' }),
    rule_id: z.string(),
    rule_name: z.string(),
    decision: z.enum(['allow', 'deny']),
    use: z.enum(RULE_USES),
    expired: z.boolean(),
    expires_at: expiresAtSchema.exactOptional(),
  })
  .meta({ id: 'UnusedRule' })
export type UnusedRule = z.infer<typeof unusedRuleSchema>

/**
 * Rules by ascending id of their policy. A page is of so many policies, so it may be short or empty
 * before the last.
 */
export const unusedRulesResponseSchema = z
  .strictObject({
    evidence: z.strictObject({
      upload: z
        .enum(UPLOAD_MODES)
        .meta({ description: 'Which records machines upload now; see `EvidenceSettings`' }),
      /** Start of the first day with records that counts; null without records. */
      since: timestampSchema.nullable(),
      judges_allows: z.boolean().meta({
        description:
          'False unless machines uploaded all decisions in all of that time, and none was dropped',
      }),
    }),
    data: z.array(unusedRuleSchema),
    next_page_token: z.string().nullable(),
  })
  .meta({ id: 'UnusedRules' })
export type UnusedRules = z.infer<typeof unusedRulesResponseSchema>

import { z } from 'zod'
import { pageSchema } from '../page.ts'
import { findingSchema } from './finding.ts'
import {
  allowlistV0Schema,
  createPolicyRequestSchema,
  policySchema,
  policySummarySchema,
  updatePolicyRequestSchema,
} from './policy.ts'
import { createRuleRequestSchema, ruleSchema } from './rule.ts'
import { expiresAtSchema, policyModeSchema } from './rule-life.ts'

/**
 * Policies and rules below `/api/v1/orgs/{org}/policies`: those of the governance API with `mode`
 * and `expires_at`, which that API does not have.
 */
const modeShape = {
  mode: policyModeSchema.exactOptional(),
}

/** `expires_at` only while the rule expires. */
export const detailedRuleSchema = ruleSchema
  .extend({ expires_at: expiresAtSchema.exactOptional() })
  .meta({ id: 'DetailedRule' })
export type DetailedRule = z.infer<typeof detailedRuleSchema>

/** Findings about the written rule by itself; absent without one, and for over 100 resources. */
const warnings = z.array(findingSchema).min(1).exactOptional()

export const createdDetailedRuleSchema = detailedRuleSchema
  .extend({ warnings })
  .meta({ id: 'CreatedDetailedRule' })
export type CreatedDetailedRule = z.infer<typeof createdDetailedRuleSchema>

/** `mode` only while it is `shadow`. */
export const detailedPolicySchema = policySchema
  .extend({
    ...modeShape,
    allowlist_v0: allowlistV0Schema
      .extend({ rules: z.array(detailedRuleSchema) })
      .meta({ id: 'DetailedAllowlistV0' })
      .optional(),
  })
  .meta({ id: 'DetailedPolicy' })
export type DetailedPolicy = z.infer<typeof detailedPolicySchema>

export const detailedPolicySummarySchema = policySummarySchema
  .extend(modeShape)
  .meta({ id: 'DetailedPolicySummary' })
export type DetailedPolicySummary = z.infer<typeof detailedPolicySummarySchema>

/** Policies by ascending id. */
export const listDetailedPoliciesResponseSchema = pageSchema(detailedPolicySummarySchema).meta({
  id: 'ListDetailedPoliciesResponse',
})
export type ListDetailedPoliciesResponse = z.infer<typeof listDetailedPoliciesResponseSchema>

export const createDetailedPolicyRequestSchema = createPolicyRequestSchema.extend(modeShape).meta({
  id: 'CreateDetailedPolicyRequest',
  examples: [{ name: 'trial of public web', mode: 'shadow' }],
})
export type CreateDetailedPolicyRequest = z.infer<typeof createDetailedPolicyRequestSchema>

/** Absent members stay; `mode: enforce` ends a shadow policy. */
export const updateDetailedPolicyRequestSchema = z
  .strictObject({ ...updatePolicyRequestSchema.shape, ...modeShape })
  .refine((body) => Object.keys(body).length > 0, 'at least one member must be present')
  .meta({
    id: 'UpdateDetailedPolicyRequest',
    minProperties: 1,
    examples: [{ mode: 'shadow' }, { mode: 'enforce', scope: { teams: [] } }],
  })
export type UpdateDetailedPolicyRequest = z.infer<typeof updateDetailedPolicyRequestSchema>

export const updateDetailedPolicyResponseSchema = z
  .strictObject({ old: detailedPolicySchema, new: detailedPolicySchema })
  .meta({ id: 'UpdateDetailedPolicyResponse' })

export const createDetailedRuleRequestSchema = createRuleRequestSchema
  .extend({ expires_at: expiresAtSchema.exactOptional() })
  .meta({
    id: 'CreateDetailedRuleRequest',
    examples: [
      {
        name: 'migration of the registry',
        actions: ['connect:tcp'],
        decision: 'allow',
        resources: ['old-registry.example.com:443'],
        expires_at: '2026-12-31T18:00:00Z',
      },
    ],
  })
export type CreateDetailedRuleRequest = z.infer<typeof createDetailedRuleRequestSchema>

/** Absent members stay; `expires_at: null` removes the expiry. */
export const updateDetailedRuleRequestSchema = createRuleRequestSchema
  .partial()
  .extend({ expires_at: expiresAtSchema.nullable().exactOptional() })
  .refine((body) => Object.keys(body).length > 0, 'at least one member must be present')
  .meta({
    id: 'UpdateDetailedRuleRequest',
    minProperties: 1,
    examples: [{ expires_at: '2026-12-31T18:00:00Z' }, { expires_at: null }],
  })
export type UpdateDetailedRuleRequest = z.infer<typeof updateDetailedRuleRequestSchema>

export const updateDetailedRuleResponseSchema = z
  .strictObject({ old: detailedRuleSchema, new: detailedRuleSchema, warnings })
  .meta({ id: 'UpdateDetailedRuleResponse' })

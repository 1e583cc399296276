import { z } from 'zod'
import { nameSchema, teamIdSchema } from '../name.ts'
import { ruleSchema } from './rule.ts'
import { pageSchema } from '../page.ts'
import { timestampSchema } from '../timestamp.ts'

/** Team UUIDs in canonical lower case; a repeated one counts once, order is kept. */
const teamsSchema = z.array(teamIdSchema).overwrite((teams) => [...new Set(teams)])

/** Scope in a response: `{}` for the whole organization, else the teams. */
export const scopeSchema = z
  .strictObject({ teams: z.array(z.string()).optional() })
  .meta({ id: 'Scope' })
export type ScopeBody = z.infer<typeof scopeSchema>

/** The rule set. `domain` is present exactly when `rules` is not empty. */
export const allowlistV0Schema = z
  .strictObject({
    domain: z.enum(['network', 'filesystem']).optional(),
    rules: z.array(ruleSchema),
  })
  .meta({ id: 'AllowlistV0' })

const summaryShape = {
  id: z.string(),
  name: z.string(),
  org: z.string(),
  scope: scopeSchema,
  /** RFC 3339 UTC, whole seconds. */
  created_at: timestampSchema,
  updated_at: timestampSchema,
}

export const policySchema = z
  .strictObject({ ...summaryShape, allowlist_v0: allowlistV0Schema.optional() })
  .meta({ id: 'Policy' })
export type PolicyBody = z.infer<typeof policySchema>

export const policySummarySchema = z
  .strictObject({ ...summaryShape, type: z.literal('allowlist_v0') })
  .meta({ id: 'PolicySummary' })
export type PolicySummary = z.infer<typeof policySummarySchema>

/** Policies by ascending id. */
export const listPoliciesResponseSchema = pageSchema(policySummarySchema).meta({
  id: 'ListPoliciesResponse',
})
export type ListPoliciesResponse = z.infer<typeof listPoliciesResponseSchema>

export const createPolicyRequestSchema = z
  .strictObject({
    name: nameSchema,
    scope: z.strictObject({ teams: teamsSchema.optional() }).optional(),
  })
  .meta({
    id: 'CreatePolicyRequest',
    examples: [
      { name: 'public web' },
      { name: 'backend', scope: { teams: ['2f1c9a4e-7b1d-4f0e-9c55-0d6f3a8b7e21'] } },
    ],
  })
export type CreatePolicyRequest = z.infer<typeof createPolicyRequestSchema>

/** `scope.teams` absent leaves the teams, present replaces them, empty clears them. */
export const updatePolicyRequestSchema = z
  .strictObject({
    name: nameSchema.optional(),
    scope: z.strictObject({ teams: teamsSchema.optional() }).optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'at least one member must be present')
  .meta({
    id: 'UpdatePolicyRequest',
    minProperties: 1,
    examples: [{ name: 'public web sites' }, { scope: { teams: [] } }],
  })
export type UpdatePolicyRequest = z.infer<typeof updatePolicyRequestSchema>

export const updatePolicyResponseSchema = z
  .strictObject({ old: policySchema, new: policySchema })
  .meta({ id: 'UpdatePolicyResponse' })

export const deletePolicyResponseSchema = z
  .strictObject({ deleted: policySchema })
  .meta({ id: 'DeletePolicyResponse' })

import { z } from 'zod'
import { errorResponses } from '../http/errors/error-responses.ts'
import { idempotencyKeyShape } from '../identity/idempotency/idempotent-post.ts'

/** Statuses that every governance route may refuse with. */
const COMMON = [400, 401, 403, 404]
/** And those of routes that read a body. */
const WITH_BODY = [409, 412, 413, 415]

export const readErrors = errorResponses(COMMON)
/** Of an answer that may be large, and is made when it is its turn. */
export const largeReadErrors = errorResponses([...COMMON, 429])
export const deleteErrors = errorResponses([...COMMON, 412])
export const checkErrors = errorResponses([...COMMON, 413, 415, 429])
export const applyErrors = errorResponses([...COMMON, ...WITH_BODY, 429])
export const writeErrors = errorResponses([...COMMON, ...WITH_BODY])

const orgShape = { org: z.string().meta({ description: 'Name of the organization' }) }
const policyShape = { ...orgShape, policy_id: z.string() }
export const orgParamsSchema = z.object(orgShape)
export const policyParamsSchema = z.object(policyShape)
export const ruleParamsSchema = z.object({ ...policyShape, rule_id: z.string() })

export type OrgParams = z.infer<typeof orgParamsSchema>
export type PolicyParams = z.infer<typeof policyParamsSchema>
export type RuleParams = z.infer<typeof ruleParamsSchema>

const ifMatchShape = {
  'if-match': z.string().optional().meta({
    description: 'Entity tags of the policy, or `*`; 412 when none of them is the current one',
  }),
}

/** Headers are documented here and judged by `readEntityTags` and `readOnceRequest`. */
export const ifMatchSchema = z.object(ifMatchShape)
export const getHeadersSchema = z.object({
  ...ifMatchShape,
  'if-none-match': z.string().optional().meta({
    description: 'Entity tags that the caller has; 304 when one of them is the current one',
  }),
})
export const postHeadersSchema = z.object({
  ...ifMatchShape,
  ...idempotencyKeyShape,
})

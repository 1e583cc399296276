import { ACTIONS } from '@palisade/policy-core'
import { z } from 'zod'
import { MAX_RESOURCE_LENGTH } from '../governance/rule.ts'
import { nameSchema } from '../name.ts'
import { syncErrorSchema } from './local-api.ts'

/** Limit of the denies that a machine keeps for its user. */
export const MAX_LOCAL_DENIES = 1_000

const actions = z
  .array(z.enum(ACTIONS))
  .min(1, 'must name at least one action')
  .max(2, 'must name at most two actions')
const resource = z.string().min(1, 'must not be empty').max(MAX_RESOURCE_LENGTH)

/**
 * `POST /v1/local-rules` adds a deny of the machine's user to the policies of the organization. A
 * user can only tighten, so there is no member for the decision.
 */
export const addLocalDenyRequestSchema = z.strictObject({
  /** Defaults to the resource. */
  name: nameSchema.optional(),
  actions,
  /** A pattern in rule syntax. */
  resource,
})
export type AddLocalDenyRequest = z.infer<typeof addLocalDenyRequestSchema>

/** `POST /v1/local-rules/remove` removes the denies with exactly this text as their resource. */
export const removeLocalDenyRequestSchema = z.strictObject({
  resource,
  /** Only denies of one of these actions; absent means all. */
  actions: actions.optional(),
})
export type RemoveLocalDenyRequest = z.infer<typeof removeLocalDenyRequestSchema>

/** A deny that the agent keeps in its data directory. */
export const localDenySchema = z.strictObject({
  id: z.string().min(1).max(64),
  name: nameSchema,
  actions,
  resource,
  /** RFC 3339 UTC. */
  created_at: z.string().max(32),
})
export type LocalDeny = z.infer<typeof localDenySchema>

export const localRulesResultSchema = z.object({
  /** `unchanged`: the deny existed already, or no deny was to be removed. */
  outcome: z.enum(['added', 'removed', 'unchanged', 'failed']),
  /** The denies that were added, removed, or existed already. */
  denies: z.array(localDenySchema),
  /** `code` is stable: `invalid_request`, `limit_exceeded` or `not_written`. */
  error: syncErrorSchema.nullable(),
})
export type LocalRulesResult = z.infer<typeof localRulesResultSchema>

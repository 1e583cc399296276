import { z } from 'zod'
import { teamIdSchema } from '../name.ts'
import { detailedPolicySchema } from './detailed-policy.ts'
import { defaultDecisionSchema } from './rule-life.ts'

/**
 * `POST /api/v1/orgs/{org}/check`: decides `request` as a machine of `user` would, or a machine of
 * a user in exactly `teams`. Without both it decides as a machine without a user. The evaluator
 * validates `request` itself and denies an invalid one with `invalid_request`.
 */
export const checkRequestSchema = z
  .strictObject({
    user: z.string().min(1, 'must not be empty').optional(),
    teams: z.array(teamIdSchema).optional(),
    request: z.record(z.string(), z.unknown()),
  })
  .refine(
    (body) => body.user === undefined || body.teams === undefined,
    'at most one of `user` and `teams` may be present',
  )
  .meta({
    id: 'CheckRequest',
    not: { properties: { user: {}, teams: {} }, required: ['user', 'teams'] },
    examples: [
      { request: { action: 'connect:tcp', host: 'api.example.com', port: 443 } },
      { user: 'alice', request: { action: 'read', path: '/home/alice/.ssh/id_ed25519' } },
    ],
  })
export type CheckRequest = z.infer<typeof checkRequestSchema>

/** Absent `user` means a machine without a user. */
export const effectivePolicyQuerySchema = z.strictObject({ user: z.string().min(1).optional() })

/** `GET /api/v1/orgs/{org}/effective-policy` */
export const effectivePolicyResponseSchema = z
  .strictObject({
    revision: z.int().nonnegative(),
    /** Default decision for the user. */
    default: defaultDecisionSchema,
    policies: z.array(detailedPolicySchema),
  })
  .meta({ id: 'EffectivePolicy' })
export type EffectivePolicyResponse = z.infer<typeof effectivePolicyResponseSchema>

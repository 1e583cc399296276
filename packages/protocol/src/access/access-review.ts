import { z } from 'zod'
import { accessRequestSchema } from './access-request.ts'
import { findingSchema } from '../governance/finding.ts'
import { timestampSchema } from '../timestamp.ts'

/**
 * - `opens`: the policies of the user do not allow all of it, so a grant opens something.
 * - `partly_denied`: the same, but a deny keeps a part of it closed, whatever is granted.
 * - `denied`: denies keep all of it closed; such a grant is refused.
 * - `allowed`: the policies of the user allow all that is not denied; a grant changes nothing.
 * - `unknown`: the policies are too large to compare here.
 */
export const ACCESS_EFFECTS = ['opens', 'partly_denied', 'denied', 'allowed', 'unknown'] as const
export type AccessEffect = (typeof ACCESS_EFFECTS)[number]

/** For approvers: the grant that a request asks for, or has got, beside policies and records. */
export const accessReviewSchema = z
  .strictObject({
    /**
     * Findings of the linter about the grant as a rule of its own; see `LINT_SEVERITIES`. A path
     * that no suggestion opens is a `sensitive_path`.
     */
    findings: z.array(findingSchema),
    resources: z.array(z.strictObject({ resource: z.string(), effect: z.enum(ACCESS_EFFECTS) })),
    /** Uploaded denials of the user's machines in the last 30 days that the grant allows. */
    recorded: z.strictObject({
      requests: z.int().nonnegative(),
      last_at: timestampSchema.nullable(),
      /** False where only the newest records were looked at. */
      complete: z.boolean(),
    }),
  })
  .meta({ id: 'AccessReview' })
export type AccessReview = z.infer<typeof accessReviewSchema>

/**
 * `GET …/access-requests/{id}`, and the answer to an approval. `review` is null for callers who may
 * not answer the request.
 */
export const reviewedAccessRequestSchema = z
  .strictObject({ ...accessRequestSchema.shape, review: accessReviewSchema.nullable() })
  .meta({ id: 'ReviewedAccessRequest' })
export type ReviewedAccessRequest = z.infer<typeof reviewedAccessRequestSchema>

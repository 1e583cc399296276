import { z } from 'zod'
import { assignmentVersionHeaderSchema } from './update.ts'

/**
 * `GET /api/v1/device/hint`: answers when the revision of the organization differs from `since`, or
 * immediately without `since`. When the server stops waiting (after at most 50 seconds), it answers
 * with `since`. With `assignment` it answers as well when this machine has a later assignment, as
 * after a change of its user's grants, which leaves the revision as it is. A hint is not signed: it
 * only makes a machine fetch its policies.
 */
export const hintQuerySchema = z.strictObject({
  since: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of at most 15 digits')
    .meta({ type: 'integer', minimum: 0 })
    .optional(),
  assignment: assignmentVersionHeaderSchema.optional().meta({
    type: 'integer',
    minimum: 0,
    description: 'Version of the last accepted assignment; also waits for a later one',
  }),
})

/** Longest `spread_seconds`: a hint is useless after the next poll. */
export const MAX_SPREAD_SECONDS = 300

export const hintSchema = z
  .strictObject({
    /** Revision of the organization. */
    revision: z.int().nonnegative(),
    /** A machine waits for a random part of this time before it fetches. */
    spread_seconds: z.number().nonnegative().max(MAX_SPREAD_SECONDS),
    /** Version of this machine's assignment, where it is later than the one in the question. */
    assignment: z.int().positive().exactOptional(),
  })
  .meta({ id: 'Hint', examples: [{ revision: 412, spread_seconds: 0.05 }] })
export type Hint = z.infer<typeof hintSchema>

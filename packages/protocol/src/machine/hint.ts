import { z } from 'zod'

/**
 * `GET /api/v1/device/hint`: answers when the revision of the organization differs from `since`, or
 * immediately without `since`. When the server stops waiting (after at most 50 seconds), it answers
 * with `since`. A hint is not signed: it only makes a machine fetch its policies.
 */
export const hintQuerySchema = z.strictObject({
  since: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of at most 15 digits')
    .meta({ type: 'integer', minimum: 0 })
    .optional(),
})

/** Longest `spread_seconds`: a hint is useless after the next poll. */
export const MAX_SPREAD_SECONDS = 300

export const hintSchema = z
  .strictObject({
    /** Of the organization. */
    revision: z.int().nonnegative(),
    /** A machine waits for a random part of this time before it fetches. */
    spread_seconds: z.number().nonnegative().max(MAX_SPREAD_SECONDS),
  })
  .meta({ id: 'Hint', examples: [{ revision: 412, spread_seconds: 0.05 }] })
export type Hint = z.infer<typeof hintSchema>

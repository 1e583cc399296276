import { z } from 'zod'

/**
 * `GET /api/v1/device/hint`: answered once the organization has another revision than `since`, at
 * once without `since`, and otherwise with `since` when the server waits no longer (50 seconds at
 * most). A hint is no policy and is not signed: it may make a machine ask, and nothing else.
 */
export const hintQuerySchema = z.strictObject({
  since: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of at most 15 digits')
    .meta({ type: 'integer', minimum: 0 })
    .optional(),
})

/** Longest `spread_seconds`: a hint that comes later than the next poll is none. */
export const MAX_SPREAD_SECONDS = 300

export const hintSchema = z
  .strictObject({
    /** Of the organization. */
    revision: z.int().nonnegative(),
    /** A machine lets a random part of this pass before it asks for anything. */
    spread_seconds: z.number().nonnegative().max(MAX_SPREAD_SECONDS),
  })
  .meta({ id: 'Hint', examples: [{ revision: 412, spread_seconds: 0.05 }] })
export type Hint = z.infer<typeof hintSchema>

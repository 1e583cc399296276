import { z } from 'zod'
import { ACCESS_SECONDS, MAX_DEVICE_GRANTS } from './access-grant.ts'

/** Limits on access requests in an organization. */
export const accessSettingsSchema = z
  .strictObject({
    longest_seconds: z
      .int()
      .min(ACCESS_SECONDS.min, `must be at least ${ACCESS_SECONDS.min}`)
      .max(ACCESS_SECONDS.max, `must be at most ${ACCESS_SECONDS.max}`)
      .meta({ description: 'Longest time that a grant lasts' }),
    most_open: z
      .int()
      .nonnegative('must not be negative')
      .max(MAX_DEVICE_GRANTS, `must be at most ${MAX_DEVICE_GRANTS}`)
      .meta({ description: 'Grants that a user has at a time; 0 allows no approval' }),
    answer_within_seconds: z
      .int()
      .min(ACCESS_SECONDS.min, `must be at least ${ACCESS_SECONDS.min}`)
      .max(ACCESS_SECONDS.max, `must be at most ${ACCESS_SECONDS.max}`)
      .meta({ description: 'A request without an answer lapses after this time' }),
  })
  .meta({ id: 'AccessSettings' })
export type AccessSettings = z.infer<typeof accessSettingsSchema>

const { longest_seconds, most_open, answer_within_seconds } = accessSettingsSchema.shape

/** Absent members stay unchanged. */
export const changedAccessSettingsSchema = z
  .strictObject({
    longest_seconds: longest_seconds.exactOptional(),
    most_open: most_open.exactOptional(),
    answer_within_seconds: answer_within_seconds.exactOptional(),
  })
  .refine((changed) => Object.keys(changed).length > 0, 'must have a member to change')
export type ChangedAccessSettings = z.infer<typeof changedAccessSettingsSchema>

export const DEFAULT_ACCESS_SETTINGS: AccessSettings = {
  longest_seconds: 8 * 60 * 60,
  most_open: 10,
  answer_within_seconds: 24 * 60 * 60,
}

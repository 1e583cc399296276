import { z } from 'zod'

const HOUR = 60 * 60
const DAY = 24 * HOUR

/** Lifetimes of the policies on machines of an organization, and the access left after expiry. */
export const distributionSettingsSchema = z
  .strictObject({
    fresh_for_seconds: z
      .int()
      .min(HOUR, 'must be at least 3600, an hour')
      .max(30 * DAY, 'must be at most 2592000, thirty days')
      .meta({
        description: 'Age since its signature at which a policy is `stale`, and still in force',
      }),
    expires_after_seconds: z
      .int()
      .min(HOUR, 'must be at least 3600, an hour')
      .max(90 * DAY, 'must be at most 7776000, ninety days')
      .meta({
        description: 'Age at which a policy expires and denies everything but `offline_allow`',
      }),
    offline_allow: z
      .array(z.string().min(1).max(4096))
      .max(100, 'must not name more than 100 hosts')
      .meta({
        description:
          'Hosts in rule syntax that an expired policy still allows when its rules allow them',
      }),
  })
  .meta({ id: 'DistributionSettings' })
export type DistributionSettings = z.infer<typeof distributionSettingsSchema>

const { fresh_for_seconds, expires_after_seconds, offline_allow } = distributionSettingsSchema.shape

/** Absent members stay unchanged. */
export const changedDistributionSettingsSchema = z
  .strictObject({
    fresh_for_seconds: fresh_for_seconds.exactOptional(),
    expires_after_seconds: expires_after_seconds.exactOptional(),
    offline_allow: offline_allow.exactOptional(),
  })
  .refine((changed) => Object.keys(changed).length > 0, 'must have a member to change')
export type ChangedDistributionSettings = z.infer<typeof changedDistributionSettingsSchema>

/** Settings of an organization without choices of its own. */
export const DEFAULT_DISTRIBUTION_SETTINGS: DistributionSettings = {
  fresh_for_seconds: DAY,
  expires_after_seconds: 7 * DAY,
  offline_allow: [],
}

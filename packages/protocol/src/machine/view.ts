import { z } from 'zod'
import { policySchema } from '../governance/policy.ts'

/**
 * A view is what one organization signs for one set of teams: a small repository of The Update
 * Framework below `/api/v1/orgs/{org}/views/{view}`, fetched with the device token. Here is what
 * its metadata holds beyond the framework's own members.
 */
export const MAX_POLICIES_OF_VIEW = 300

/**
 * Of the SHA-256 of a timestamp in base64url; in quotation marks its entity tag, which machines
 * make themselves.
 */
export const TIMESTAMP_TAG_CHARACTERS = 22

/** Version of the policy documents; an agent that meets another one fails closed. */
export const POLICY_DOCUMENT_SCHEMA = 1

/** A century; a time beyond the calendar of the machine cannot be told. */
const MAX_LIFE_SECONDS = 100 * 365 * 24 * 60 * 60

export const viewIdSchema = z.string().regex(/^[0-9a-f]{32}$/)

/**
 * A policy as machines get it. Whom it is for, others than this view's teams, is not theirs to
 * know.
 * `self_test` is read by `readSelfTest`, because a test that cannot be read is no reason to take
 * the policy for one of a later version, by which everything is denied. Absent where there is
 * nothing to ask.
 */
export const viewPolicySchema = policySchema
  .omit({ scope: true })
  .extend({
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    self_test: z.unknown().exactOptional(),
  })
  .meta({ id: 'ViewPolicy' })
export type ViewPolicy = z.infer<typeof viewPolicySchema>

/** `custom` of a target; a `mode` that an agent does not know enforces. */
export const viewTargetSchema = z.object({
  mode: z.string(),
  /** Of the policy: the organization's revision at its last change. */
  revision: z.int().nonnegative(),
  schema: z.int(),
})
export type ViewTarget = z.infer<typeof viewTargetSchema>

/** `x-settings` of the targets file; whole numbers, because canonical JSON has no others. */
export const viewSettingsSchema = z.object({
  /**
   * Hosts as rules write them, with or without a port: what a machine whose bundle has expired may
   * still reach, as far as that bundle allows it. Absent is none.
   */
  offline_allow: z.array(z.string().min(1).max(4096)).max(100).exactOptional(),
  /** After the timestamp was issued: from then on everything is denied. */
  expires_after_seconds: z.int().positive().max(MAX_LIFE_SECONDS),
  /** The longest life that a timestamp may have, so that its key alone cannot freeze a machine. */
  fresh_for_seconds: z.int().positive().max(MAX_LIFE_SECONDS),
  poll_seconds: z.int().positive(),
  resolve_unlisted_names: z.boolean(),
  /** The organization's revision when this view last became another. */
  revision: z.int().nonnegative(),
})
export type ViewSettings = z.infer<typeof viewSettingsSchema>

/** 128 bits at least, in base64url. */
export const nonceSchema = z
  .string()
  .regex(/^[\w-]{22,64}$/, 'must be 22 to 64 characters of base64url')

/** `_type` of an assignment; no file of a repository has it, so none passes for another. */
export const DEVICE_VIEW_TYPE = 'device_view'

/**
 * `GET /api/v1/device/view`: which view the device may fetch, as of some minutes ago at most.
 * Signed like a targets file (canonical JSON, by the targets key), because nothing else binds a
 * machine to one of the views that its organization has signed.
 */
export const deviceViewSchema = z
  .strictObject({
    signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })),
    signed: z.strictObject({
      _type: z.literal(DEVICE_VIEW_TYPE),
      org: z.string(),
      device_id: z.string(),
      /** Null for a device without a user. */
      user: z.string().nullable(),
      view: viewIdSchema,
      /**
       * Grows whenever the view of the device becomes another, and is no less than the seconds from
       * 1970 to then. Absent for those who do not ask for it; see `ASSIGNMENT_VERSION_HEADER`.
       */
      version: z
        .int()
        .positive()
        .max(2 ** 48)
        .exactOptional(),
      /** As the device asked with `NONCE_HEADER`. */
      nonce: nonceSchema.exactOptional(),
      /** RFC 3339 UTC, whole seconds, as is `expires`. */
      issued: z.iso.datetime({ precision: 0 }),
      expires: z.iso.datetime({ precision: 0 }),
    }),
  })
  .meta({ id: 'DeviceView' })
export type DeviceView = z.infer<typeof deviceViewSchema>

import { z } from 'zod'
import { parseInstant } from '@palisade/policy-core'
import { MAX_DEVICE_GRANTS } from '../access/access-grant.ts'
import { allowlistV0Schema, policySchema } from '../governance/policy.ts'
import { ruleSchema } from '../governance/rule.ts'
import { wholeSecondSchema } from '../timestamp.ts'

/**
 * A view is the set of files that one organization signs for one set of teams: a small repository
 * of The Update Framework below `/api/v1/orgs/{org}/views/{view}`, fetched with the device token.
 * This module describes the members of its metadata beyond those of the framework.
 */
export const MAX_POLICIES_OF_VIEW = 300

/**
 * Length of a timestamp's tag: characters of its SHA-256 in base64url. In quotation marks it is the
 * entity tag, which machines compute themselves.
 */
export const TIMESTAMP_TAG_CHARACTERS = 22

/** Version of the policy documents. Agents fail closed on other versions. */
export const POLICY_DOCUMENT_SCHEMA = 1

/** A century, so that times stay within the range of dates. */
const MAX_LIFE_SECONDS = 100 * 365 * 24 * 60 * 60

export const viewIdSchema = z.string().regex(/^[0-9a-f]{32}$/)

/** A rule for machines. An expiry that cannot be read makes the policy unsupported. */
const viewRuleSchema = ruleSchema.extend({
  expires_at: z
    .string()
    .refine((text) => parseInstant(text) !== null)
    .meta({ format: 'date-time' })
    .exactOptional(),
})

/**
 * A policy for machines. Its scope hides teams outside this view. `readSelfTest` parses `self_test`
 * separately: an unreadable test must not make the policy unsupported, which would deny every
 * request. Absent for a policy without vectors.
 */
export const viewPolicySchema = policySchema
  .omit({ scope: true })
  .extend({
    allowlist_v0: allowlistV0Schema.extend({ rules: z.array(viewRuleSchema) }).optional(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    self_test: z.unknown().exactOptional(),
  })
  .meta({ id: 'ViewPolicy' })
export type ViewPolicy = z.infer<typeof viewPolicySchema>

/** `custom` of a target. `mode` is `enforce` or `shadow`; agents enforce any other. */
export const viewTargetSchema = z.object({
  mode: z.string(),
  /** The organization's revision at the last change of the policy. */
  revision: z.int().nonnegative(),
  schema: z.int(),
})
export type ViewTarget = z.infer<typeof viewTargetSchema>

/** `x-settings` of the targets file. Numbers are integers, because canonical JSON has no others. */
export const viewSettingsSchema = z.object({
  /**
   * Hosts in the notation of rules, with or without a port, that a machine with an expired bundle
   * may still reach, as far as that bundle allows it. Absent means an empty list.
   */
  offline_allow: z.array(z.string().min(1).max(4096)).max(100).exactOptional(),
  /** Time from the issue of the timestamp until every request is denied. */
  expires_after_seconds: z.int().positive().max(MAX_LIFE_SECONDS),
  /** Longest lifetime of a timestamp, so that the timestamp key alone cannot freeze a machine. */
  fresh_for_seconds: z.int().positive().max(MAX_LIFE_SECONDS),
  /**
   * `EvidenceSettings`, parsed separately: settings that an agent cannot read mean that it uploads
   * nothing, and must not make the view unsupported. Absent while uploads are off.
   */
  evidence: z.unknown().exactOptional(),
  poll_seconds: z.int().positive(),
  resolve_unlisted_names: z.boolean(),
  /** `enforce` or `observe`; agents enforce when it is absent or any other. */
  default: z.string().exactOptional(),
  /**
   * The organization's text after each denial by its policies. Parsed separately: a text that an
   * agent cannot read is not shown, and must not make the view unsupported.
   */
  support_message: z.unknown().exactOptional(),
  /** The organization's revision at the last change of this view. */
  revision: z.int().nonnegative(),
})
export type ViewSettings = z.infer<typeof viewSettingsSchema>

/** At least 128 bits, in base64url. */
export const nonceSchema = z
  .string()
  .regex(/^[\w-]{22,64}$/, 'must be 22 to 64 characters of base64url')

/** `_type` of an assignment. No file of a repository has it, so none can pass for an assignment. */
export const DEVICE_VIEW_TYPE = 'device_view'

/**
 * `GET /api/v1/device/view`: the view that the device may fetch, at most some minutes old. Signed
 * like a targets file (canonical JSON, by the targets key), because only this document binds a
 * machine to one of the signed views of its organization.
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
       * Grows at each change of the device's view, and is at least the time of the change in
       * seconds since 1970.
       */
      version: z
        .int()
        .positive()
        .max(2 ** 48),
      /**
       * `AccessGrant`s of the user, each parsed separately: a grant that an agent cannot read opens
       * nothing, and must not make the assignment unreadable. Absent means an empty list.
       */
      grants: z.array(z.unknown()).min(1).max(MAX_DEVICE_GRANTS).exactOptional(),
      /** The value that the device sent in `NONCE_HEADER`. */
      nonce: nonceSchema.exactOptional(),
      issued: wholeSecondSchema,
      expires: wholeSecondSchema,
    }),
  })
  .meta({ id: 'DeviceView' })
export type DeviceView = z.infer<typeof deviceViewSchema>

import { z } from 'zod'
import { lineSchema } from '../line.ts'
import { wholeSecondSchema, timestampSchema } from '../timestamp.ts'

/** `_type` of a grant. No other signed document has it, so none can pass for a grant. */
export const GRANT_TYPE = 'break_glass_grant'

/** `version` of a grant. Agents refuse other versions. */
export const GRANT_VERSION = 1

/** Longest grant file, in bytes. */
export const MAX_GRANT_BYTES = 16 * 1024

/** Limits in seconds for the duration of a grant and for the time from its issue to its start. */
export const GRANT_LIMITS = {
  minDuration: 60,
  maxDuration: 24 * 60 * 60,
  minUseWithin: 60,
  maxUseWithin: 30 * 24 * 60 * 60,
  defaultUseWithin: 24 * 60 * 60,
} as const

const MAX_REASON = 256

/** The reason for a grant, shown in the machine's log, its status and the history. */
const reasonSchema = lineSchema
  .max(MAX_REASON, `must be at most ${MAX_REASON} characters`)
  .regex(/\S/, 'must say why, such as `office is offline until Monday`')

/** Id of a grant. A machine's report may claim any id, so this also describes unverified ids. */
export const grantIdSchema = z
  .string()
  .regex(/^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/, 'must be the id of a grant')

const secondsSchema = (least: number, most: number) => z.int().min(least).max(most)

/** `POST /api/v1/orgs/{org}/devices/{device}/break-glass` */
export const issueGrantRequestSchema = z
  .strictObject({
    reason: reasonSchema,
    /** Duration from the start of the grant: at most a day. */
    duration_seconds: secondsSchema(GRANT_LIMITS.minDuration, GRANT_LIMITS.maxDuration),
    /** Time until the grant must start: at most 30 days; absent means a day. */
    use_within_seconds: secondsSchema(
      GRANT_LIMITS.minUseWithin,
      GRANT_LIMITS.maxUseWithin,
    ).exactOptional(),
  })
  .meta({
    id: 'IssueGrantRequest',
    examples: [{ reason: 'office is offline until Monday', duration_seconds: 14_400 }],
  })
export type IssueGrantRequest = z.infer<typeof issueGrantRequestSchema>

/**
 * A line whose pattern is left out of the document, because readers without the flag `u` misread
 * it.
 */
const shownSchema = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine((text) => lineSchema.safeParse(text).success, 'must be one line')

/**
 * A grant, which is the content of a grant file. It applies to one machine, once: expired policies
 * count as before their expiry. It is signed like a targets file (canonical JSON, by the targets
 * key), so that a machine can verify it by its roots without a server.
 */
export const grantSchema = z
  .strictObject({
    signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })),
    signed: z.strictObject({
      _type: z.literal(GRANT_TYPE),
      version: z.literal(GRANT_VERSION),
      org: z.string(),
      device_id: z.string(),
      /** Random; a machine accepts each id only once. */
      id: grantIdSchema,
      reason: shownSchema(MAX_REASON),
      /** `user:NAME` or `organization:NAME:TOKEN`. */
      issued_by: shownSchema(512),
      issued: wholeSecondSchema,
      /** Latest start of the grant. */
      use_by: wholeSecondSchema,
      duration_seconds: secondsSchema(GRANT_LIMITS.minDuration, GRANT_LIMITS.maxDuration),
    }),
  })
  .meta({ id: 'Grant' })
export type Grant = z.infer<typeof grantSchema>

/** A grant that may still start or be in force. */
export const outstandingGrantSchema = z
  .strictObject({
    id: z.string(),
    reason: z.string(),
    issued_by: z.string(),
    issued_at: timestampSchema,
    use_by: z.string(),
    duration_seconds: z.int(),
    /** Start of the grant, if the machine's last report says that it is in force. */
    begun_at: timestampSchema.optional(),
  })
  .meta({ id: 'OutstandingGrant' })
export type OutstandingGrant = z.infer<typeof outstandingGrantSchema>

/** `GET /api/v1/orgs/{org}/devices/{device}/break-glass`, by time of issue. */
export const listGrantsResponseSchema = z
  .strictObject({ data: z.array(outstandingGrantSchema) })
  .meta({ id: 'ListGrantsResponse' })

/**
 * The grant in force, as reported by the machine and shown by the fleet. The report is unverified.
 */
export const grantInForceSchema = z.strictObject({
  grant_id: grantIdSchema,
  begun_at: wholeSecondSchema,
})
export type GrantInForce = z.infer<typeof grantInForceSchema>

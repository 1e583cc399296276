import { z } from 'zod'
import { assuranceClassSchema, assuranceFilterSchema } from './assurance.ts'
import { grantInForceSchema } from './break-glass.ts'
import { deviceLabelSchema, deviceLabelsSchema } from './enrolment-token.ts'
import { deviceNameSchema } from './device-name.ts'
import { AGENT_STATES } from './local-api.ts'
import { enforcementReportSchema, policyDigestSchema, reportErrorSchema } from './report.ts'
import { usernameSchema } from '../name.ts'
import { pageSizeSchema, queryNumberSchema } from '../query-number.ts'
import { timestampSchema } from '../timestamp.ts'

/** One public signing key (RFC 8037, OKP Ed25519). */
export interface PublicKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
}

/**
 * `POST /api/v1/orgs/{org}/devices`: enrols the machine whose key has signed the proof in the
 * header `DPoP`, for a user or without one.
 */
export const enrolDeviceRequestSchema = z
  .strictObject({
    /** A member of the organization; absent for a device without a user. */
    user: z.string().optional(),
    /** Absent for a machine without a name. */
    name: deviceNameSchema.optional(),
  })
  .meta({ id: 'EnrolDeviceRequest', examples: [{}, { user: 'alice', name: 'laptop-12' }] })

/** `POST /api/v1/enrol`: enrols a machine with an enrolment token and without a user. */
export const enrolMachineRequestSchema = z
  .strictObject({
    /** `pal_enr_…`: the part of the enrolment token before its first dot. */
    token: z.string().max(256),
    /** Absent for a machine without a name. */
    name: deviceNameSchema.optional(),
  })
  .meta({ id: 'EnrolMachineRequest', examples: [{ token: `pal_enr_${'0'.repeat(49)}` }] })

/**
 * The answer to an enrolment, kept in the machine's enrolment file (mode 0600). It holds all that
 * the agent trusts: policies are refused unless their signatures lead back to `root`. The private
 * key of the machine stays in a separate file and never leaves the machine.
 */
export const enrolmentSchema = z
  .strictObject({
    /** Origin of the server, such as `http://127.0.0.1:8420`. */
    server: z.url({ protocol: /^https?$/ }),
    org: z.string(),
    user: z.string().nullable(),
    device_id: z.string(),
    /** Text of a root of the organization, to which all trusted signatures lead back. */
    root: z.string(),
  })
  .meta({ id: 'Enrolment' })
export type Enrolment = z.infer<typeof enrolmentSchema>

/** The enrolment file. Only the agent's status uses the name. */
export const keptEnrolmentSchema = enrolmentSchema.extend({
  /** The name sent with the enrolment, if any. */
  name: deviceNameSchema.exactOptional(),
})
export type KeptEnrolment = z.infer<typeof keptEnrolmentSchema>

/** The key file of a machine (mode 0600): RFC 8037, with the private part. */
export const deviceKeySchema = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  d: z.string(),
})
export type DeviceKey = z.infer<typeof deviceKeySchema>

/** `POST /api/v1/device/token` */
export const deviceTokenResponseSchema = z
  .strictObject({
    /** `pal_dat_…`, bound to the key of the device. */
    access_token: z.string(),
    token_type: z.literal('DPoP'),
    /** Seconds. */
    expires_in: z.int().positive(),
  })
  .meta({ id: 'DeviceTokenResponse' })
export type DeviceTokenResponse = z.infer<typeof deviceTokenResponseSchema>

/** `GET /api/v1/orgs/{org}/devices`: an enrolled machine. */
export const deviceSchema = z
  .strictObject({
    id: z.string(),
    /** The host name at enrolment, or a later name. Absent for a machine without a name. */
    name: z.string().optional(),
    /** Null for a device without a user. */
    user: z.string().nullable(),
    labels: z.array(z.string()),
    created_at: timestampSchema,
    /** Present once the device is revoked. */
    revoked_at: timestampSchema.optional(),
    /**
     * Present while the settings of organization and teams allow requests that no rule matches.
     * The device follows once it has fetched them.
     */
    default: z.literal('observe').exactOptional(),
    /**
     * Time of the last fetch of policies, up to a minute late; absent before the first one.
     */
    last_seen_at: timestampSchema.optional(),
    /** Time of the last report. Absent, like the reported members below, before the first one. */
    reported_at: timestampSchema.optional(),
    /** The reported revision in force; absent when there is none. */
    revision: z.int().nonnegative().optional(),
    state: z.enum(AGENT_STATES).optional(),
    agent_version: z.string().optional(),
    /** Absent when the last attempt to fetch succeeded. */
    last_error: reportErrorSchema.optional(),
    /** Present while a break-glass grant is in force. */
    break_glass: grantInForceSchema.optional(),
    /** Absent before the machine has tested its enforcement points. */
    enforcement: enforcementReportSchema.optional(),
    /** Absent for an agent that reports no class. */
    assurance: assuranceClassSchema.optional(),
    /** Absent while no policy is in force. */
    policy_digest: policyDigestSchema.optional(),
  })
  .meta({ id: 'Device' })
export type Device = z.infer<typeof deviceSchema>

/** `PATCH /api/v1/orgs/{org}/devices/{device}` */
export const updateDeviceRequestSchema = z
  .strictObject({
    labels: deviceLabelsSchema.exactOptional(),
    name: deviceNameSchema.exactOptional(),
  })
  .refine((changed) => Object.keys(changed).length > 0, 'must have a member to change')
  .meta({
    id: 'UpdateDeviceRequest',
    minProperties: 1,
    examples: [{ labels: ['ci', 'linux'] }, { name: 'laptop-12' }],
  })
export type UpdateDeviceRequest = z.infer<typeof updateDeviceRequestSchema>

/** `page_size`: absent, 0 or more than 100 means 100. Filters must all hold. */
export const listDevicesQuerySchema = z.strictObject({
  page_size: pageSizeSchema.optional(),
  cursor: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The `next_cursor` of an earlier answer; absent starts with the first' }),
  user: usernameSchema.optional(),
  state: z.enum(AGENT_STATES).optional(),
  revision: queryNumberSchema.optional(),
  label: deviceLabelSchema.optional(),
  assurance: assuranceFilterSchema.optional(),
  name: deviceNameSchema.optional().meta({ description: 'Prefix of the name' }),
  silent_for_seconds: queryNumberSchema.optional().meta({
    description: 'Not revoked, and neither enrolled nor seen in this number of seconds',
  }),
})
export type ListDevicesQuery = z.infer<typeof listDevicesQuerySchema>
/**
 * Devices by ascending id; `next_cursor` is null on the last page. A page may be short, or empty
 * when the filters skip many devices.
 */
export const listDevicesResponseSchema = z
  .strictObject({ data: z.array(deviceSchema), next_cursor: z.string().nullable() })
  .meta({ id: 'ListDevicesResponse' })
export type ListDevicesResponse = z.infer<typeof listDevicesResponseSchema>

import { z } from 'zod'

/** One public signing key (RFC 8037, OKP Ed25519). */
export interface PublicKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
}

/** `POST /api/v1/orgs/{org}/devices`: enrols a machine, for a user or for none. */
export const enrolDeviceRequestSchema = z
  .strictObject({
    /** A member of the organization; absent for a device without a user. */
    user: z.string().optional(),
  })
  .meta({ id: 'EnrolDeviceRequest', examples: [{}, { user: 'alice' }] })

/**
 * What the answer holds, and what the token file of a machine holds (mode 0600): everything that
 * the agent trusts. Policy is refused whose signatures do not lead back to `root`.
 */
export const enrolmentSchema = z
  .strictObject({
    /** Origin of the server, such as `http://127.0.0.1:8420`. */
    server: z.url({ protocol: /^https?$/ }),
    org: z.string(),
    user: z.string().nullable(),
    device_id: z.string(),
    /** `pal_dev_…`; shown this once. */
    device_token: z.string(),
    /** Text of a root of the organization; whatever the machine believes is signed by way of it. */
    root: z.string(),
  })
  .meta({ id: 'Enrolment' })
export type Enrolment = z.infer<typeof enrolmentSchema>

/** `GET /api/v1/orgs/{org}/devices`: an enrolled machine, without its secret. */
export const deviceSchema = z
  .strictObject({
    id: z.string(),
    /** Null for a device without a user. */
    user: z.string().nullable(),
    created_at: z.string(),
    /** Present once the device is revoked. */
    revoked_at: z.string().optional(),
    /** When it last fetched its policies, known a minute later at most; absent when it never did. */
    last_seen_at: z.string().optional(),
  })
  .meta({ id: 'Device' })
export type Device = z.infer<typeof deviceSchema>
export const listDevicesResponseSchema = z.strictObject({ data: z.array(deviceSchema) })

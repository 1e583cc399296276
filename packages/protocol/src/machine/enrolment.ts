import { z } from 'zod'

/** One public signing key (RFC 8037, OKP Ed25519). */
const publicKeySchema = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
})
export type PublicKey = z.infer<typeof publicKeySchema>

/** `POST /api/v1/orgs/{org}/devices`: enrols a machine, for a user or for none. */
export const enrolDeviceRequestSchema = z
  .strictObject({
    /** A member of the organization; absent for a device without a user. */
    user: z.string().optional(),
  })
  .meta({ id: 'EnrolDeviceRequest', examples: [{}, { user: 'alice' }] })

/**
 * What the answer holds, and what the token file of a machine holds (mode 0600): everything that
 * the agent trusts. A bundle signed by a key that is not in `bundle_keys` is refused.
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
    bundle_keys: z.strictObject({ keys: z.array(publicKeySchema).min(1) }),
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

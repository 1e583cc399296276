import { z } from 'zod'
import { policySchema } from '../governance/policy.ts'

/** `typ` of the protected header; no other kind of signed document passes for a bundle (RFC 8725 §3.11). */
export const BUNDLE_TYPE = 'palisade-bundle+jws'
export const BUNDLE_MEDIA_TYPE = 'application/jose'
/** Version of the claims below. An agent that meets another one fails closed (`unsupported_policy`). */
export const BUNDLE_SCHEMA = 1

const instantSchema = z.iso.datetime({ precision: 3 })

/**
 * The effective policies of one device, as signed by the server: a compact JWS (RFC 7515) with
 * `alg` EdDSA, fetched from `GET /api/v1/device/bundle` with the device token.
 */
export const bundleSchema = z.strictObject({
  schema: z.literal(BUNDLE_SCHEMA),
  org: z.string(),
  device_id: z.string(),
  user: z.string().nullable(),
  user_teams: z.array(z.string()),
  /** Counts the changes of the organization; only grows. */
  revision: z.int().nonnegative(),
  /** RFC 3339 UTC with milliseconds, as are the two below. */
  issued_at: instantSchema,
  /** From here on decisions carry `stale: true`. */
  stale_at: instantSchema,
  /** From here on everything is denied with `policy_expired`. */
  expires_at: instantSchema,
  settings: z.strictObject({ resolve_unlisted_names: z.boolean() }),
  policies: z.array(policySchema),
})
export type Bundle = z.infer<typeof bundleSchema>

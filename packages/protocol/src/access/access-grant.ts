import { ACTIONS } from '@palisade/policy-core'
import { z } from 'zod'
import { wholeSecondSchema } from '../timestamp.ts'

/** Resources of one request and of its grant. */
export const MAX_ACCESS_RESOURCES = 10

/** Grants that one machine has at a time. */
export const MAX_DEVICE_GRANTS = 50

/** Seconds that access may last; an organization sets its own maximum within these limits. */
export const ACCESS_SECONDS = { min: 60, max: 30 * 24 * 60 * 60 } as const

/** Id of an access request, and of the grant that answers it. */
export const accessRequestIdSchema = z
  .string()
  .regex(/^acr_[0-9a-z]{28}$/, 'must be the id of an access request')

export const accessActionSchema = z.enum(ACTIONS)

/** Patterns in the notation of rules, all of the domain of the action. */
export const accessResourcesSchema = z
  .array(z.string().min(1).max(4096))
  .min(1)
  .max(MAX_ACCESS_RESOURCES)

/**
 * An approved access request as the machines of its user have it: one more allow, of origin
 * `grant`. Denies and protected addresses override it.
 */
export const accessGrantSchema = z
  .strictObject({
    id: accessRequestIdSchema,
    action: accessActionSchema,
    resources: accessResourcesSchema,
    /** The grant counts from this instant of trusted time and before the other. */
    not_before: wholeSecondSchema,
    expires_at: wholeSecondSchema,
    /** Spent by the first connection that it alone allowed; only with actions of connections. */
    once: z.literal(true).exactOptional(),
  })
  .meta({ id: 'AccessGrant' })
export type AccessGrant = z.infer<typeof accessGrantSchema>

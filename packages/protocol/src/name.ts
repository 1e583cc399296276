import { z } from 'zod'

const MAX_CODE_POINTS = 255
/**
 * Longest text to normalize, in UTF-16 code units: ICU takes quadratic time for combining marks,
 * and an NFC character has at most six code units.
 */
const MAX_UNITS = 6 * MAX_CODE_POINTS
const TOO_LONG = `must be at most ${MAX_CODE_POINTS} characters`

/**
 * A label for people: NFC, trimmed, 1 to 255 code points, no control characters (Cc) and no
 * unpaired surrogate. The schema returns the normalized form.
 */
export const nameSchema = z
  .string()
  .overwrite((text) => text.trim())
  .refine((text) => text.length <= MAX_UNITS, { error: TOO_LONG, abort: true })
  .overwrite((text) => text.normalize('NFC').trim())
  .refine((text) => text.isWellFormed(), 'must not contain an unpaired surrogate')
  .refine((text) => !/\p{Cc}/u.test(text), 'must not contain control characters')
  .refine((text) => text !== '', 'must not be empty')
  // Code units are never fewer than code points, and nearly always few enough.
  .refine((text) => text.length <= MAX_CODE_POINTS || [...text].length <= MAX_CODE_POINTS, TOO_LONG)
  .meta({ description: '1 to 255 characters after trimming and NFC; no control characters' })

/** A team id: a UUID, compared and kept in lower case. */
export const teamIdSchema = z
  .string()
  .regex(/^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/, 'must be a team UUID')
  .overwrite((text) => text.toLowerCase())

/** Patterns of whole names, for use inside other patterns. */
export const ORGANIZATION_NAME = '[a-z0-9][a-z0-9_-]{0,62}'
export const USERNAME = '[a-z0-9][a-z0-9._@+-]{0,126}'

/** Name of an organization. The alphabet is narrow because the name is part of URL paths. */
export const organizationNameSchema = z
  .string()
  .regex(
    new RegExp(`^${ORGANIZATION_NAME}$`),
    'must be 1 to 63 of a-z, 0-9, `-` and `_`, starting with a letter or digit',
  )

/** Sign-in name of a user; the organization's own name is never a user. */
export const usernameSchema = z
  .string()
  .regex(
    new RegExp(`^${USERNAME}$`),
    'must be 1 to 127 of a-z, 0-9 and `._@+-`, starting with a letter or digit',
  )

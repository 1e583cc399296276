import { z } from 'zod'

/**
 * A label for people: NFC, trimmed, 1 to 255 code points, no control characters (Cc) and no
 * unpaired surrogate. What leaves the schema is the normalized form.
 */
export const nameSchema = z
  .string()
  .overwrite((text) => text.normalize('NFC').trim())
  .refine((text) => text.isWellFormed(), 'must not contain an unpaired surrogate')
  .refine((text) => !/\p{Cc}/u.test(text), 'must not contain control characters')
  .refine((text) => text !== '', 'must not be empty')
  .refine((text) => [...text].length <= 255, 'must be at most 255 characters')
  .meta({ description: '1 to 255 characters after trimming and NFC; no control characters' })

/** A team id: a UUID, compared and kept in lower case. */
export const teamIdSchema = z
  .string()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'must be a team UUID')
  .overwrite((text) => text.toLowerCase())

/** Name of an organization: what stands in a URL path, so a narrow alphabet. */
export const organizationNameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    'must be 1 to 63 of a-z, 0-9, `-` and `_`, starting with a letter or digit',
  )

/** Sign-in name of a user; the organization's own name is never a user. */
export const usernameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._@+-]{0,126}$/,
    'must be 1 to 127 of a-z, 0-9 and `._@+-`, starting with a letter or digit',
  )

import { z } from 'zod'

const MAX_SUPPORT_MESSAGE = 500
const TOO_LONG = `must be at most ${MAX_SUPPORT_MESSAGE} characters`

/**
 * Characters that end a line, control a terminal, reorder text, or show nothing: a coding agent
 * reads invisible text that people do not see. Joiners and variation selectors stay, because some
 * scripts and emoji need them.
 */
const NOT_PLAIN =
  /(?!\p{Join_Control}|\p{Variation_Selector})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * The text of an organization after each denial by its policies: plain, one line, trimmed, 1 to 500
 * code points.
 */
export const supportMessageSchema = z
  .string()
  .overwrite((text) => text.trim())
  .refine((text) => text.length <= 2 * MAX_SUPPORT_MESSAGE, { error: TOO_LONG, abort: true })
  .refine((text) => text.isWellFormed(), 'must not contain an unpaired surrogate')
  .refine(
    (text) => !NOT_PLAIN.test(text),
    'must be one line without control and invisible characters',
  )
  .refine((text) => text !== '', 'must not be empty')
  .refine((text) => [...text].length <= MAX_SUPPORT_MESSAGE, TOO_LONG)
  .meta({ description: '1 to 500 characters of plain text in one line' })

/** The part of a decision that tells its cause. */
interface Caused {
  readonly decision: string
  readonly reason: string
  readonly rules: readonly { readonly origin: string }[]
}

/**
 * Whether policies of the organization deny the request. The user's own denies, an invalid request
 * and a machine without valid policies are other causes, with advice of their own.
 */
export function isOrganizationDenial({ decision, reason, rules }: Caused): boolean {
  if (decision !== 'deny') return false
  if (reason === 'rule') return rules.some(({ origin }) => origin === 'org')
  return reason === 'default_deny' || reason === 'protected_address'
}

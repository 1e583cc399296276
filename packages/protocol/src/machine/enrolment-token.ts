import { z } from 'zod'
import { nameSchema } from '../name.ts'
import { pageSchema } from '../page.ts'
import { timestampSchema } from '../timestamp.ts'

const MAX_LABELS = 16

export const deviceLabelSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,62}$/,
    'must be 1 to 63 of a-z, 0-9 and `._-`, starting with a letter or digit',
  )

/** Labels distinguish devices beyond their users. Labels do not select policies. */
export const deviceLabelsSchema = z
  .array(deviceLabelSchema)
  .max(MAX_LABELS, `must be at most ${MAX_LABELS} labels`)
  .refine((labels) => new Set(labels).size === labels.length, 'must not repeat a label')

/** `/api/v1/orgs/{org}/enrolment-tokens` */
export const createEnrolmentTokenRequestSchema = z
  .strictObject({
    name: nameSchema,
    /** Labels of every device that enrols with the token. */
    labels: deviceLabelsSchema.optional(),
    max_uses: z.int().min(1).max(1_000_000),
    expires_in_days: z.int().min(1).max(30),
  })
  .meta({
    id: 'CreateEnrolmentTokenRequest',
    examples: [{ name: 'build machines', labels: ['ci'], max_uses: 20, expires_in_days: 7 }],
  })
export type CreateEnrolmentTokenRequest = z.infer<typeof createEnrolmentTokenRequestSchema>

export const enrolmentTokenSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    labels: z.array(z.string()),
    /** The first characters of the secret. */
    prefix: z.string(),
    max_uses: z.int().positive(),
    uses: z.int().nonnegative(),
    /** Null for an unused token. */
    last_used_at: timestampSchema.nullable(),
    created_at: timestampSchema,
    /** `user:NAME` or `organization:NAME:TOKEN`. */
    created_by: z.string(),
    expires_at: timestampSchema,
    expired: z.boolean(),
  })
  .meta({ id: 'EnrolmentToken' })
export type EnrolmentToken = z.infer<typeof enrolmentTokenSchema>
/** `token` is the secret with all data that a machine needs to enrol. It is shown only once. */
export const createdEnrolmentTokenSchema = enrolmentTokenSchema
  .extend({ token: z.string() })
  .meta({ id: 'CreatedEnrolmentToken' })
export type CreatedEnrolmentToken = z.infer<typeof createdEnrolmentTokenSchema>
/** Tokens that are not revoked, by creation. Expired tokens stay listed for 30 days. */
export const listEnrolmentTokensResponseSchema = pageSchema(enrolmentTokenSchema).meta({
  id: 'ListEnrolmentTokensResponse',
})
export type ListEnrolmentTokensResponse = z.infer<typeof listEnrolmentTokensResponseSchema>

/** Parts of an enrolment token. */
export interface EnrolmentTokenParts {
  /** `pal_enr_…`: the only part that is sent to the server. */
  readonly secret: string
  readonly org: string
  /** SHA-256 of the root that the machine pins, lower-case hexadecimal. */
  readonly root_sha256: string
  /** Origin of the server. */
  readonly server: string
}

/** One line: secret, organization, pin and server with dots in between. */
export function formatEnrolmentToken(parts: EnrolmentTokenParts): string {
  return [parts.secret, parts.org, parts.root_sha256, parts.server].join('.')
}

/** Null for any other text, including one that is cut off within the pin. */
export function parseEnrolmentToken(text: string): EnrolmentTokenParts | null {
  const parts =
    /^(pal_enr_[0-9A-Za-z]{49})\.([a-z0-9][a-z0-9_-]{0,62})\.([0-9a-f]{64})\.(https?:\/\/[^\s/\\?#@]{1,255})$/.exec(
      text,
    )
  if (parts === null) return null
  const [, secret = '', org = '', root_sha256 = '', server = ''] = parts
  return { secret, org, root_sha256, server }
}

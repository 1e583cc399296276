import { z } from 'zod'
import { exactlyOneOf } from '../exactly-one-of.ts'

/** Prefixes identify the kind of a secret for people and secret scanners. */
export const PERSONAL_TOKEN_PREFIX = 'pal_pat_'
export const ORGANIZATION_TOKEN_PREFIX = 'pal_oat_'
export const ENROLMENT_TOKEN_PREFIX = 'pal_enr_'

/** `POST /v2/auth/token`. Exactly one spelling of each of the two fields. */
export const tokenRequestSchema = z
  .strictObject({
    username: z.string().optional(),
    identifier: z.string().optional(),
    password: z.string().optional(),
    secret: z.string().optional(),
  })
  .refine(
    (body) => (body.username === undefined) !== (body.identifier === undefined),
    'exactly one of `username` and `identifier` must be present',
  )
  .refine(
    (body) => (body.password === undefined) !== (body.secret === undefined),
    'exactly one of `password` and `secret` must be present',
  )
  .meta({
    id: 'TokenRequest',
    allOf: [exactlyOneOf('username', 'identifier'), exactlyOneOf('password', 'secret')],
    examples: [
      { username: 'alice', password: 'a password, or a token that starts with pal_pat_' },
      { identifier: 'acme', secret: 'a token that starts with pal_oat_' },
    ],
  })
export type TokenRequest = z.infer<typeof tokenRequestSchema>

export const tokenResponseSchema = z
  .strictObject({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    /** Seconds. */
    expires_in: z.int().positive(),
    /** Repeats `access_token` for old clients. */
    token: z.string(),
  })
  .meta({ id: 'TokenResponse' })
export type TokenResponse = z.infer<typeof tokenResponseSchema>

/** `GET /.well-known/jwks.json` */
export const keySetSchema = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string(),
        alg: z.literal('EdDSA'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'KeySet' })

export const PERMISSIONS = [
  'policies:read',
  'policies:write',
  'audit:read',
  'organization:admin',
] as const
export type Permission = (typeof PERMISSIONS)[number]

export const ROLES = ['owner', 'editor', 'auditor', 'member'] as const
export type Role = (typeof ROLES)[number]

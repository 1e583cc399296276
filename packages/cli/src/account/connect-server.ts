import {
  createServerClient,
  type AccessTokensClient,
  type InvitationsClient,
  type OrganizationClient,
} from '@palisade/client'
import { configurationError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { formatAge } from '../terminal/age.ts'
import { patientFetch } from '../terminal/waiting.ts'
import { credentialsPath, readCredentials } from './credentials-file.ts'
import type { StoredCredentials } from './credentials.ts'
import { readSecretLine } from './read-secret.ts'
import { resolveAccount } from './resolve-account.ts'

/** Of commands that call `connectPerson`. */
export const PASSWORD_OPTION = [
  '--password-stdin',
  'your password, from standard input, instead of the stored token',
] as const

export interface PasswordOption {
  readonly passwordStdin?: true
}

/** What this run administers, as the account of this run. */
export interface Connection {
  readonly org: string
  /** Who is signed in; the organization's name for a token of the organization. */
  readonly username: string
  readonly organization: OrganizationClient
  /** Of the account itself. */
  readonly personalTokens: AccessTokensClient
  readonly invitations: InvitationsClient
}

/** With `secret` in place of the stored token. */
export async function connectOrganization(io: Io, secret?: string): Promise<Connection> {
  const stored = await readCredentials(credentialsPath(io))
  requireUnexpired(io, stored)
  const account = resolveAccount(stored, io.env)
  const client = createServerClient({
    server: account.server,
    credentials: { username: account.username, secret: secret ?? account.token },
    fetch: patientFetch(io),
  })
  return {
    org: account.org,
    username: account.username,
    organization: client.organization(account.org),
    personalTokens: client.accessTokens,
    invitations: client.invitations,
  }
}

/**
 * For what a person does and no token without permissions, which is all that a plain member's login
 * keeps: by the password from standard input when `isPassword` says so.
 */
export async function connectPerson(io: Io, isPassword: boolean | undefined): Promise<Connection> {
  return connectOrganization(
    io,
    isPassword === true ? await readSecretLine(io, 'password') : undefined,
  )
}

function requireUnexpired({ now, env }: Io, stored: StoredCredentials | null): void {
  const expiresAt = stored?.expires_at
  if (expiresAt === undefined || env['PALISADE_TOKEN'] || Date.parse(expiresAt) > now()) return
  throw configurationError(
    `the token of this machine expired ${formatAge(expiresAt, now())}; run \`palisade login\``,
  )
}

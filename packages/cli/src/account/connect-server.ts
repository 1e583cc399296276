import {
  createServerClient,
  type AccessTokensClient,
  type InvitationsClient,
  type OrganizationClient,
} from '@palisade/client'
import { configurationError } from '../runtime/cli-error.ts'
import type { Io } from '../runtime/io.ts'
import { patientFetch } from '../runtime/waiting.ts'
import { formatAge } from '../terminal/age.ts'
import { credentialsPath, readCredentials } from './credentials-file.ts'
import type { StoredCredentials } from './credentials.ts'
import { readSecretLine } from './read-secret.ts'
import { resolveAccount } from './resolve-account.ts'

/** Option of commands that call `connectPerson`. */
export const PASSWORD_OPTION = [
  '--password-stdin',
  'your password, from standard input, instead of the stored token',
] as const

export interface PasswordOption {
  readonly passwordStdin?: true
}

/** The organization that this run administers, and the account that it uses. */
export interface Connection {
  readonly org: string
  /** The signed-in user's name; the organization's name for an organization token. */
  readonly username: string
  readonly organization: OrganizationClient
  /** Tokens of the account itself. */
  readonly personalTokens: AccessTokensClient
  readonly invitations: InvitationsClient
}

/** Connects with `secret` in place of the stored token. */
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
 * Connects for operations that a token without permissions cannot do. The login of a plain member
 * stores only such a token, so with `isPassword` the password is read from standard input.
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

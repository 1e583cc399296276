import { createServerClient, type ServerClient } from '@palisade/client'
import { nearestName, type UserOrganization } from '@palisade/protocol'
import { CliError, usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { Io } from '../runtime/io.ts'
import { patientFetch } from '../runtime/waiting.ts'
import {
  isOrganizationToken,
  isToken,
  type Account,
  type StoredCredentials,
} from './credentials.ts'
import { createMachineToken } from './machine-token.ts'

/**
 * Verifies with the server that `account` may sign in and belongs to its organization. Resolves to
 * the credentials to store, which never hold a password.
 */
export async function signIn(
  io: Pick<Io, 'fetch' | 'hostName' | 'progress' | 'stderr'>,
  account: Account,
): Promise<StoredCredentials> {
  const client = createServerClient({
    server: account.server,
    credentials: { username: account.username, secret: account.token },
    fetch: patientFetch(io),
  })
  if (isOrganizationToken(account.token)) {
    await client.authenticate()
    if (account.org !== account.username)
      throw usageError(
        `a token of organization \`${account.username}\` is valid there only; ` +
          `write \`--org ${account.username}\``,
      )
    return account
  }
  const memberships = await requireMember(client, account)
  return isToken(account.token) ? account : createMachineToken(io, client, account, memberships)
}

async function requireMember(
  client: ServerClient,
  { org, username }: Account,
): Promise<readonly UserOrganization[]> {
  const memberships = await client.organizations()
  const names = memberships.map(({ name }) => name)
  if (names.includes(org)) return memberships
  const near = nearestName(org, names)
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    `\`${username}\` is not a member of organization \`${org}\`; ${adviseOn(near, names)}`,
  )
}

function adviseOn(near: string | null, names: readonly string[]): string {
  if (near !== null) return `did you mean \`--org ${near}\``
  if (names.length === 0) return 'an administrator adds members with `palisade member add`'
  return `write ${names.map((name) => `\`--org ${name}\``).join(' or ')}`
}

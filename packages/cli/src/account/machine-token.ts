import { createServerClient, type ServerClient } from '@palisade/client'
import type { UserOrganization } from '@palisade/protocol'
import type { Io } from '../runtime/io.ts'
import type { Account, StoredCredentials } from './credentials.ts'

const LIFETIME_DAYS = 90
/** An unreachable server must not delay a logout. */
const REVOKE_TIMEOUT_MS = 5_000

/**
 * Exchanges the password of `account` for a personal token of this machine with the user's
 * permissions. A leaked file then exposes a token that expires and can be revoked, not the
 * password.
 */
export async function createMachineToken(
  io: Pick<Io, 'hostName'>,
  client: Pick<ServerClient, 'accessTokens'>,
  account: Account,
  memberships: readonly UserOrganization[],
): Promise<StoredCredentials> {
  const permissions = new Set(memberships.flatMap((each) => each.permissions))
  const made = await client.accessTokens.create({
    name: `palisade login on ${io.hostName}`,
    permissions: [...permissions],
    expires_in_days: LIFETIME_DAYS,
  })
  return { ...account, token: made.token, token_id: made.id, expires_at: made.expires_at }
}

/** Revokes the token that a login created, with that token; a token that the user pasted stays. */
export async function revokeMachineToken(
  io: Pick<Io, 'fetch'>,
  { server, username, token, token_id }: StoredCredentials,
): Promise<void> {
  if (token_id === undefined) return
  const client = createServerClient({
    server,
    credentials: { username, secret: token },
    fetch: io.fetch,
    timeoutMs: REVOKE_TIMEOUT_MS,
  })
  await client.accessTokens.revoke(token_id)
}

import {
  createServerClient,
  type AccessTokensClient,
  type OrganizationClient,
} from '@palisade/client'
import type { Io } from '../io.ts'
import { credentialsPath, readCredentials } from './credentials-file.ts'
import { resolveAccount } from './resolve-account.ts'

/** What this run administers, as the account of this run. */
export interface Connection {
  readonly org: string
  /** Who is signed in; the organization's name for a token of the organization. */
  readonly username: string
  readonly organization: OrganizationClient
  /** Of the account itself. */
  readonly personalTokens: AccessTokensClient
}

export async function connectOrganization(io: Io): Promise<Connection> {
  const account = resolveAccount(await readCredentials(credentialsPath(io)), io.env)
  const client = createServerClient({
    server: account.server,
    credentials: { username: account.username, secret: account.token },
    fetch: io.fetch,
  })
  return {
    org: account.org,
    username: account.username,
    organization: client.organization(account.org),
    personalTokens: client.accessTokens,
  }
}

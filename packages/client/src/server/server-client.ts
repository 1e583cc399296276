import {
  listUserOrganizationsResponseSchema,
  passwordChangedSchema,
  type ChangePasswordRequest,
  type PasswordChanged,
  type UserOrganization,
} from '@palisade/protocol'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAccessTokenSource, type Credentials } from './access-token.ts'
import { createAccessTokensClient, type AccessTokensClient } from './access-tokens.ts'
import { createCall } from './call.ts'
import type { Wire } from './exchange.ts'
import { createInvitationsClient, type InvitationsClient } from './invitations.ts'
import type { Fetch } from './fetch.ts'
import { collectPages } from './list-pages.ts'
import { createOrganizationClient, type OrganizationClient } from './organization.ts'
import type { Pace } from './retry.ts'
import { parseServerUrl } from './server-url.ts'

export interface ServerClientOptions {
  /** Base of the server, such as `http://127.0.0.1:8420`. */
  readonly server: string
  readonly credentials: Credentials
  /** Default: the global one. */
  readonly fetch?: Fetch | undefined
  /** For one attempt. Milliseconds, default 30 000. */
  readonly timeoutMs?: number | undefined
  /** Longest answer that is read, default 8 MiB. */
  readonly maxAnswerBytes?: number | undefined
  /** Default: the system's clock, timers and random numbers. */
  readonly pace?: Pace | undefined
}

export interface ServerClient {
  /** Exchanges the credentials now. Rejects with `ERR_API` (401) when they are wrong. */
  authenticate(): Promise<void>
  /** Throws `ERR_ARGUMENT_INVALID` when `org` cannot be a name. */
  organization(org: string): OrganizationClient
  /** The organizations of the caller, with their permissions in each. */
  organizations(): Promise<readonly UserOrganization[]>
  /** Ends every session of the old password, including one of this client. */
  changePassword(body: ChangePasswordRequest): Promise<PasswordChanged>
  /** Personal tokens of the caller. */
  readonly accessTokens: AccessTokensClient
  readonly invitations: InvitationsClient
}

/**
 * A client of the server's API. Opens nothing until a method is called; the access token lives in
 * memory only. Throws `ERR_SERVER_URL_INVALID`; methods reject with `ClientError`.
 */
export function createServerClient(options: ServerClientOptions): ServerClient {
  const wire: Wire = {
    server: parseServerUrl(options.server),
    fetch: options.fetch ?? fetch,
    timeoutMs: options.timeoutMs ?? 30_000,
    maxAnswerBytes: options.maxAnswerBytes ?? 8 * 1024 * 1024,
  }
  const pace = options.pace ?? {
    now: Date.now,
    sleep: (ms: number) => sleep(ms),
    random: Math.random,
  }
  const tokens = createAccessTokenSource(wire, options.credentials, pace.now)
  const call = createCall(wire, tokens, pace)
  return {
    async authenticate() {
      await tokens.get()
    },
    organization: (org) =>
      createOrganizationClient(call, org, { newKey: randomUUID, server: wire.server }),
    organizations: async () =>
      collectPages(call, {
        path: '/api/v1/user/organizations',
        page: listUserOrganizationsResponseSchema,
      }),
    changePassword: async (body) =>
      call({ method: 'PUT', path: '/api/v1/user/password', body }, passwordChangedSchema),
    accessTokens: createAccessTokensClient(call, '/api/v1/user/access-tokens'),
    invitations: createInvitationsClient(call),
  }
}

import type { AccessToken, ListAccessTokensResponse, PageQuery } from '@palisade/protocol'
import { permissionDenied } from '../platform/api-error.ts'
import { readPage, type RowPage } from '../http/input/read-page.ts'
import type { AccessTokenRecord } from '../store/records.ts'
import type { Store, StoreReader } from '../store/store.ts'
import { authorize } from '../identity/authorize.ts'
import { listedSince } from '../identity/limits/expired-tokens.ts'
import { compareWithCreators } from './made-tokens.ts'
import type { Caller, UserPrincipal } from '../identity/principal.ts'
import { missingPermissions } from '../identity/roles.ts'

export interface ListAccessTokensDeps {
  readonly store: Pick<Store, 'read'>
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
}

/**
 * The user's tokens whose rights do not exceed the credential's: a narrow one sees no wider one.
 */
export async function listPersonalTokens(
  deps: ListAccessTokensDeps,
  caller: Caller,
  query: PageQuery,
): Promise<ListAccessTokensResponse> {
  const user = requireUser(caller)
  const now = deps.now()
  return deps.store.read(async (reader) => {
    const list = { of: 'personal_tokens', owner: user.username } as const
    const { rows, next_page_token } = await readPage(deps, list, query, {
      read: (page) => readWithin(reader, user, page, now),
      positionOf: ({ id }) => id,
    })
    return { data: rows.map((token) => formatAccessToken(token, now, null)), next_page_token }
  })
}

export async function listOrganizationTokens(
  deps: ListAccessTokensDeps,
  caller: Caller,
  org: string,
  query: PageQuery,
): Promise<ListAccessTokensResponse> {
  const now = deps.now()
  const expiresAfter = listedSince(now)
  return deps.store.read(async (reader) => {
    await authorize(reader, caller, org, 'organization:admin')
    const list = { of: 'organization_tokens', owner: org } as const
    const { rows, next_page_token } = await readPage(deps, list, query, {
      read: (page) => reader.accessTokens.pageOfOrganization(org, { ...page, expiresAfter }),
      positionOf: ({ id }) => id,
    })
    const exceeds = await compareWithCreators(reader, org, rows)
    const data = rows.map((token) => formatAccessToken(token, now, exceeds(token)))
    return { data, next_page_token }
  })
}

/** A page of the tokens that pass; it looks at no more of them than the quota of a user allows. */
async function readWithin(
  reader: StoreReader,
  user: UserPrincipal,
  { after: first, limit }: RowPage,
  now: Date,
): Promise<AccessTokenRecord[]> {
  const found: AccessTokenRecord[] = []
  const expiresAfter = listedSince(now)
  for (let after = first; ;) {
    const page = { after, limit, expiresAfter }
    const tokens = await reader.accessTokens.pageOfUser(user.username, page)
    found.push(...tokens.filter((token) => isWithin(token, user)))
    const last = tokens.at(-1)
    if (last === undefined || tokens.length < limit || found.length >= limit)
      return found.slice(0, limit)
    after = last.id
  }
}

export function requireUser(caller: Caller): UserPrincipal {
  if (caller.kind === 'user') return caller
  throw permissionDenied('an organization token has no personal tokens; sign in as a user')
}

/** Whether the token may do no more than the credential of its user. */
export function isWithin(token: AccessTokenRecord, { permissions }: UserPrincipal): boolean {
  return missingPermissions(token.permissions, permissions).length === 0
}

export function formatAccessToken(
  record: AccessTokenRecord,
  now: Date,
  exceeds_creator: boolean | null,
): AccessToken {
  const { id, name, permissions, prefix, created_at, created_by, expires_at, last_used_at } = record
  return {
    id,
    name,
    permissions: [...permissions],
    prefix,
    created_at,
    created_by,
    exceeds_creator,
    expires_at,
    expired: expires_at <= now.toISOString(),
    last_used_at,
  }
}

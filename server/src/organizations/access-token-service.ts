import type {
  CreateAccessTokenRequest,
  CreatedAccessToken,
  ListAccessTokensResponse,
  PageQuery,
  Permission,
} from '@palisade/protocol'
import type { Answer } from '../http/answer.ts'
import { notFound, permissionDenied, unauthenticated } from '../platform/api-error.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { Author } from '../history/author.ts'
import type { OnceRequest } from '../identity/idempotency/answer-once.ts'
import { createOnce } from '../identity/idempotency/idempotent-post.ts'
import type { AccessTokenRecord } from '../store/records.ts'
import type { StoreReader, StoreWriter } from '../store/store.ts'
import { createSecretToken, hashSecretToken } from '../identity/tokens/secret-token.ts'
import { isLive } from '../identity/authenticate.ts'
import { authorize } from '../identity/authorize.ts'
import { listedSince } from '../identity/limits/expired-tokens.ts'
import { requireRoom, type Quotas } from '../identity/limits/quotas.ts'
import type { WriteLimits } from '../identity/limits/write-limits.ts'
import {
  formatAccessToken,
  isWithin,
  listOrganizationTokens,
  listPersonalTokens,
  requireUser,
  type ListAccessTokensDeps,
} from './list-access-tokens.ts'
import { findMaker } from './made-tokens.ts'
import type { Caller, Principal, UserPrincipal } from '../identity/principal.ts'
import { missingPermissions, permissionsOf } from '../identity/roles.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** `pal_pat_` and four characters: 24 of 256 bits, too few to help an attacker who guesses. */
const PREFIX_LENGTH = 12

/**
 * Personal tokens of the caller, or the tokens of an organization. Every method throws ApiError.
 *
 * A token made in the session of another token ends with that one: it expires no later, and is
 * revoked with it. Otherwise the holder of a stolen token could make one that stays. Such a session
 * lists and revokes only personal tokens whose rights do not exceed its own.
 */
export interface AccessTokenService {
  listPersonal(caller: Caller, query: PageQuery): Promise<ListAccessTokensResponse>
  createPersonal(
    caller: Caller,
    request: CreateAccessTokenRequest,
    once: OnceRequest,
  ): Promise<Answer>
  revokePersonal(caller: Caller, id: string): Promise<void>
  listOfOrganization(
    caller: Caller,
    org: string,
    query: PageQuery,
  ): Promise<ListAccessTokensResponse>
  createForOrganization(
    caller: Caller,
    org: string,
    request: CreateAccessTokenRequest,
    once: OnceRequest,
  ): Promise<Answer>
  revokeOfOrganization(caller: Caller, org: string, id: string): Promise<void>
}

export interface AccessTokenServiceDeps extends ListAccessTokensDeps {
  readonly store: AuditedStore
  readonly quotas: Quotas
  readonly writeLimits: WriteLimits
  readonly random: (bytes: number) => Uint8Array
  readonly newId: () => string
}

export function createAccessTokenService(deps: AccessTokenServiceDeps): AccessTokenService {
  const { store } = deps
  return {
    listPersonal: (caller, query) => listPersonalTokens(deps, caller, query),

    createPersonal(caller, request, once) {
      deps.writeLimits.countOwn(caller)
      return store.write(caller.author, async (writer) => {
        const user = requireUser(caller)
        requireHeld(request.permissions, await permissionsAnywhere(writer, user))
        const parent = await findParent(deps, writer, caller)
        const owner = { kind: 'personal' as const, username: user.username }
        return createOnce(writer, once, deps.now(), async () => {
          const at = listedSince(deps.now())
          const count = await writer.accessTokens.countLiveOfUser(user.username, at)
          requireRoom(count, deps.quotas.tokensOfUser, 'revoke unused personal tokens')
          return createToken(deps, writer, request, { owner, parent, author: caller.author })
        })
      })
    },

    revokePersonal: (caller, id) =>
      store.write(caller.author, async (writer) => {
        await requireWithin(writer, requireUser(caller), id)
        await writer.accessTokens.revoke(id, deps.now().toISOString())
      }),

    listOfOrganization: (caller, org, query) => listOrganizationTokens(deps, caller, org, query),

    createForOrganization: (caller, org, request, once) =>
      store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, 'organization:admin')
        requireHeld(request.permissions, access.permissions)
        const parent = await findParent(deps, writer, caller)
        const owner = { kind: 'organization' as const, org }
        return createOnce(writer, once, deps.now(), async () => {
          const at = listedSince(deps.now())
          const count = await writer.accessTokens.countLiveOfOrganization(org, at)
          requireRoom(count, deps.quotas.tokensOfOrg, 'revoke unused organization tokens')
          return createToken(deps, writer, request, { owner, parent, author: caller.author })
        })
      }),

    revokeOfOrganization: (caller, org, id) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        await requireOrganizationToken(writer, org, id)
        await writer.accessTokens.revoke(id, deps.now().toISOString())
      }),
  }
}

/** The owner of a new token, its maker, and the token of the maker's session (null without one). */
interface TokenOrigin {
  readonly owner: { kind: 'personal'; username: string } | { kind: 'organization'; org: string }
  readonly author: Author
  readonly parent: AccessTokenRecord | null
}

/** Stores a new token and answers it with its secret, which is kept nowhere. */
export async function createToken(
  deps: Pick<AccessTokenServiceDeps, 'now' | 'random' | 'newId'>,
  writer: StoreWriter,
  request: CreateAccessTokenRequest,
  { owner, author, parent }: TokenOrigin,
): Promise<CreatedAccessToken> {
  const token = createSecretToken(owner.kind, deps.random)
  const now = deps.now()
  const wanted = new Date(now.getTime() + request.expires_in_days * DAY_MS).toISOString()
  const record: AccessTokenRecord = {
    ...owner,
    id: deps.newId(),
    name: request.name,
    permissions: request.permissions,
    secret_hash: hashSecretToken(token),
    created_at: now.toISOString(),
    expires_at: parent !== null && parent.expires_at < wanted ? parent.expires_at : wanted,
    revoked_at: null,
    parent_id: parent?.id ?? null,
    prefix: token.slice(0, PREFIX_LENGTH),
    created_by: author.actor,
    last_used_at: null,
  }
  await writer.accessTokens.insert(record)
  // A maker has all that the token may do, or it is refused.
  const exceeds = findMaker(record) === null ? null : false
  return { ...formatAccessToken(record, now, exceeds), token }
}

/** The token that the caller's session came from, or null for a password. Throws 401 or 403. */
export async function findParent(
  deps: { readonly now: () => Date },
  reader: StoreReader,
  principal: Principal,
): Promise<AccessTokenRecord | null> {
  requireOwnSession(principal)
  const { tokenId } = principal
  if (tokenId === null) return null
  const parent = await reader.accessTokens.find(tokenId)
  // It may have been revoked since the caller was admitted, and its children with it.
  if (parent === null || !isLive(parent, deps.now()))
    throw unauthenticated('the access token has been revoked')
  return parent
}

/** Access by way of an issuer ends when the issuer ends it; no token of ours may outlive that. */
function requireOwnSession(principal: Principal): void {
  if (principal.kind === 'user' && principal.external)
    throw permissionDenied(
      'an external session cannot create tokens; sign in with a password or a token of this server',
    )
}

function requireHeld(wanted: readonly Permission[], held: readonly Permission[]): void {
  const [missing] = missingPermissions(wanted, held)
  if (missing !== undefined)
    throw permissionDenied(`a token cannot have \`${missing}\`, which you do not have`)
}

/** A personal token serves in all organizations of its user, within the user's role in each. */
async function permissionsAnywhere(
  reader: StoreReader,
  user: UserPrincipal,
): Promise<Permission[]> {
  const memberships = await reader.memberships.listOfUser(user.username)
  const held = new Set(memberships.flatMap(({ role }) => permissionsOf(role)))
  return user.permissions.filter((permission) => held.has(permission))
}

/** Throws 404 unless the organization has a token with this id that is not revoked. */
export async function requireOrganizationToken(
  reader: StoreReader,
  org: string,
  id: string,
): Promise<void> {
  const token = await reader.accessTokens.find(id)
  if (token?.kind !== 'organization' || token.org !== org || token.revoked_at !== null)
    throw notFound('access token not found')
}

/** Throws 404 unless the user has a token with this id that the user's credential may see. */
export async function requireWithin(
  reader: StoreReader,
  user: UserPrincipal,
  id: string,
): Promise<void> {
  const token = await reader.accessTokens.find(id)
  if (token?.kind !== 'personal' || token.username !== user.username || token.revoked_at !== null)
    throw notFound('access token not found')
  if (!isWithin(token, user)) throw notFound('access token not found')
}

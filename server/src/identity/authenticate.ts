import { PERMISSIONS } from '@palisade/protocol'
import { unauthenticated } from '../platform/api-error.ts'
import type { RequestOrigin } from '../history/author.ts'
import type { AccessTokenRecord } from '../store/records.ts'
import type { Store, StoreReader } from '../store/store.ts'
import type { AccessTokenSubject } from './tokens/access-token-jwt.ts'
import { parseBearer } from '../http/input/bearer.ts'
import { claimedKind } from './tokens/secret-token.ts'
import { isEnded } from './oidc/ended-sessions.ts'
import type { SessionTokens } from './oidc/external-sessions.ts'
import type { Principal } from './principal.ts'

export type Authenticate = (
  authorizationHeader: string | undefined,
  from?: RequestOrigin,
) => Promise<Principal>

const UNKNOWN_ORIGIN: RequestOrigin = { address: null, request_id: null }

/** The principal of a subject, and when it expires even if the store does not change. */
interface Found {
  readonly principal: Principal
  readonly untilMs: number
}

/**
 * Turns an `Authorization` header into the caller, or throws 401. After the signature, the store is
 * checked for a revoked user or secret token. The result is cached until the next commit to
 * accounts, so a revocation takes effect at once; until then the same object is returned.
 */
export function createAuthenticator(deps: {
  readonly store: Pick<Store, 'read' | 'generation'>
  readonly accessTokens: SessionTokens
  readonly now: () => Date
}): Authenticate {
  const known = new WeakMap<AccessTokenSubject, Found & { readonly generation: number }>()
  return async (authorizationHeader, from = UNKNOWN_ORIGIN) => {
    const token = parseAccessToken(authorizationHeader)
    const subject = await deps.accessTokens.verify(token, from)
    if (subject === null) throw invalidToken()
    // Read before the store, so that a commit during the read makes the result stale.
    const generation = deps.store.generation('accounts')
    const kept = known.get(subject)
    if (kept?.generation === generation && deps.now().getTime() < kept.untilMs)
      return kept.principal
    const found = await deps.store.read((reader) => findPrincipal(reader, subject, deps.now()))
    // Do not reveal which users exist to holders of a token of the external issuer.
    if (found === null && subject.external) throw invalidToken()
    if (found === null) throw unauthenticated('the access token has been revoked')
    known.set(subject, { ...found, generation })
    return found.principal
  }
}

/** Whether a secret token may still be used. */
export function isLive(token: AccessTokenRecord, now: Date): boolean {
  return token.revoked_at === null && now.toISOString() < token.expires_at
}

async function findPrincipal(
  reader: StoreReader,
  subject: AccessTokenSubject,
  now: Date,
): Promise<Found | null> {
  const { kind, name: username, tokenId, passwordGeneration = 0 } = subject
  if (subject.external) return findExternal(reader, subject)
  if (tokenId === null) {
    const user = kind === 'user' ? await reader.users.find(username) : null
    if (kind !== 'user' || user?.password_generation !== passwordGeneration) return null
    const principal = { kind, username, tokenId, rootTokenId: null, permissions: PERMISSIONS }
    return { principal, untilMs: Number.POSITIVE_INFINITY }
  }
  const token = await reader.accessTokens.find(tokenId)
  if (token === null || !isLive(token, now)) return null
  return { principal: await readPrincipal(reader, token), untilMs: Date.parse(token.expires_at) }
}

async function findExternal(
  reader: StoreReader,
  { name: username, issuedAt = 0 }: AccessTokenSubject,
): Promise<Found | null> {
  const user = await reader.users.find(username)
  if (user === null || isEnded(user, issuedAt)) return null
  const principal = {
    kind: 'user' as const,
    username,
    tokenId: null,
    rootTokenId: null,
    external: true as const,
    permissions: PERMISSIONS,
  }
  return { principal, untilMs: Number.POSITIVE_INFINITY }
}

/** The access token of the header. Throws 401, also for a secret token that was not exchanged. */
function parseAccessToken(authorizationHeader: string | undefined): string {
  const token = parseBearer(authorizationHeader)
  const kind = claimedKind(token)
  if (kind === 'personal' || kind === 'organization') throw notExchanged(kind)
  return token
}

/** Looks at the prefix only, so the answer does not reveal whether the secret is valid. */
function notExchanged(kind: 'personal' | 'organization') {
  const body =
    kind === 'personal'
      ? '{"username":"NAME","password":"pal_pat_…"}'
      : '{"identifier":"ORGANIZATION","secret":"pal_oat_…"}'
  const token = kind === 'personal' ? 'a personal token' : 'an organization token'
  return unauthenticated(
    `${token} is not an access token; exchange it at \`POST /v2/auth/token\` with \`${body}\` ` +
      'and send the `access_token` of the answer',
  )
}

function invalidToken() {
  return unauthenticated('the access token is invalid or has expired')
}

/** The principal that acts by a secret token. */
export async function readPrincipal(
  reader: StoreReader,
  token: AccessTokenRecord,
): Promise<Principal> {
  const { id: tokenId, permissions } = token
  const rootTokenId = token.parent_id === null ? tokenId : await reader.accessTokens.rootOf(tokenId)
  return token.kind === 'personal'
    ? { kind: 'user', username: token.username, tokenId, rootTokenId, permissions }
    : { kind: 'organization', org: token.org, tokenId, rootTokenId, permissions }
}

import { PERMISSIONS } from '@palisade/protocol'
import { unauthenticated } from '../http/api-error.ts'
import type { AccessTokenRecord } from '../store/records.ts'
import type { Store, StoreReader } from '../store/store.ts'
import type { AccessTokenIssuer, AccessTokenSubject } from '../tokens/access-token-jwt.ts'
import { parseBearer } from './bearer.ts'
import type { Principal } from './principal.ts'

export type Authenticate = (authorizationHeader: string | undefined) => Promise<Principal>

/**
 * Turns an `Authorization` header into the caller, or throws 401. Besides the signature it asks
 * the store whether user and secret token are still good, so a revocation counts at once.
 */
export function createAuthenticator(deps: {
  readonly store: Store
  readonly accessTokens: AccessTokenIssuer
  readonly now: () => Date
}): Authenticate {
  return async (authorizationHeader) => {
    const token = parseBearer(authorizationHeader)
    const subject = await deps.accessTokens.verify(token)
    if (subject === null) throw unauthenticated('the access token is invalid or has expired')
    const principal = await deps.store.read((reader) => findPrincipal(reader, subject, deps.now()))
    if (principal === null) throw unauthenticated('the access token has been revoked')
    return principal
  }
}

/** Tells whether a secret token may still be used. */
export function isLive(token: AccessTokenRecord, now: Date): boolean {
  return token.revoked_at === null && now.toISOString() < token.expires_at
}

async function findPrincipal(
  reader: StoreReader,
  subject: AccessTokenSubject,
  now: Date,
): Promise<Principal | null> {
  if (subject.tokenId === null) {
    if (subject.kind !== 'user' || (await reader.users.find(subject.name)) === null) return null
    return { kind: 'user', username: subject.name, tokenId: null, permissions: PERMISSIONS }
  }
  const token = await reader.accessTokens.find(subject.tokenId)
  if (token === null || !isLive(token, now)) return null
  return principalOf(token)
}

function principalOf(token: AccessTokenRecord): Principal {
  const { id: tokenId, permissions } = token
  return token.kind === 'personal'
    ? { kind: 'user', username: token.username, tokenId, permissions }
    : { kind: 'organization', org: token.org, tokenId, permissions }
}

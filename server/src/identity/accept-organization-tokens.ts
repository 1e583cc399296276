import { unauthenticated } from '../platform/api-error.ts'
import { parseBearer } from '../http/input/bearer.ts'
import type { Store } from '../store/store.ts'
import { isLive, readPrincipal, type Authenticate } from './authenticate.ts'
import type { TokenUse } from './token-use.ts'
import { hashSecretToken, kindOfSecretToken } from './tokens/secret-token.ts'

/**
 * Accepts organization tokens themselves beside access tokens, for collectors of the audit log,
 * which send the token with each request and do not exchange it.
 */
export function acceptOrganizationTokens(
  authenticate: Authenticate,
  deps: {
    readonly store: Pick<Store, 'read'>
    readonly tokenUse: Pick<TokenUse, 'note'>
    readonly now: () => Date
  },
): Authenticate {
  return async (authorizationHeader, from) => {
    const secret = parseBearer(authorizationHeader)
    if (kindOfSecretToken(secret) !== 'organization') return authenticate(authorizationHeader, from)
    const hash = hashSecretToken(secret)
    return deps.store.read(async (reader) => {
      const token = await reader.accessTokens.findBySecretHash(hash)
      if (token === null || token.kind !== 'organization' || !isLive(token, deps.now()))
        throw unauthenticated('the organization token is invalid, revoked or expired')
      deps.tokenUse.note(token.id)
      return readPrincipal(reader, token)
    })
  }
}

import { unauthenticated } from '../platform/api-error.ts'
import { claimedKind } from './tokens/secret-token.ts'

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i

/** The token of a `Bearer` header; null when there is none, or anything else. */
export function findBearer(authorizationHeader: string | undefined): string | null {
  return BEARER.exec(authorizationHeader ?? '')?.[1] ?? null
}

/** The token of a `Bearer` header (RFC 6750 §2.1; the scheme in any letter case), or throws 401. */
export function parseBearer(authorizationHeader: string | undefined): string {
  if (authorizationHeader === undefined)
    throw unauthenticated('send `Authorization: Bearer` with an access token')
  const token = findBearer(authorizationHeader)
  if (token === null)
    throw unauthenticated('the `Authorization` header must be `Bearer` and one token')
  const kind = claimedKind(token)
  if (kind === 'personal' || kind === 'organization') throw notExchanged(kind)
  return token
}

/** The prefix alone says so: whether the token is good is left open. */
function notExchanged(kind: 'personal' | 'organization') {
  const body =
    kind === 'personal'
      ? '{"username":"NAME","password":"pal_pat_…"}'
      : '{"identifier":"ORGANIZATION","secret":"pal_oat_…"}'
  const token = kind === 'personal' ? 'a personal token' : 'an organization token'
  return unauthenticated(
    `${token} is not an access token; exchange it at \`POST /v2/auth/token\` with \`${body}\` and send the \`access_token\` of the answer`,
  )
}

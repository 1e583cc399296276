import { unauthenticated } from '../../platform/api-error.ts'

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i

/** Parses a `Bearer` header (RFC 6750 §2.1, scheme case-insensitive). Throws 401. */
export function parseBearer(authorizationHeader: string | undefined): string {
  if (authorizationHeader === undefined)
    throw unauthenticated('send `Authorization: Bearer` with an access token')
  const token = BEARER.exec(authorizationHeader)?.[1]
  if (token === undefined)
    throw unauthenticated('the `Authorization` header must be `Bearer` and one token')
  return token
}

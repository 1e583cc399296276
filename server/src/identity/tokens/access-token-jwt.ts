import { decodeProtectedHeader, jwtVerify, SignJWT, type JWTPayload } from 'jose'
import type { AccessTokenKeys } from './access-token-keys.ts'
import { createVerifiedTokens } from './verified-tokens.ts'

const ALGORITHM = 'EdDSA'
/** RFC 9068 §2.1. The type keeps other signed documents from passing as access tokens. */
const TYPE = 'at+jwt'
const ISSUER = 'palisade-server'
const AUDIENCE = 'palisade-api'
/** The maximum of `PALISADE_ACCESS_TOKEN_MINUTES`. */
const MAX_LIFE_SECONDS = 60 * 60
/** Tolerated difference between the clocks of servers on one store. */
const SKEW_SECONDS = 60

/** The subject of an access token. */
export interface AccessTokenSubject {
  readonly kind: 'user' | 'organization'
  /** Username or organization name. */
  readonly name: string
  /** The secret token that opened the session; null for a password or an external issuer. */
  readonly tokenId: string | null
  /** For a session by password: the generation of the password; absent means 0. */
  readonly passwordGeneration?: number
  /** Set for a session of the external issuer. */
  readonly external?: true
  /** With `external`: `iat` of the token, in seconds since 1970. */
  readonly issuedAt?: number
}

export interface AccessTokenIssuer {
  /** A compact JWS that expires after `lifetimeSeconds`. */
  issue(subject: AccessTokenSubject, lifetimeSeconds: number): Promise<string>
  /**
   * Returns the subject of a valid token of this server; null for any other text. Returns the same
   * object for the same token while it is cached.
   */
  verify(token: string): Promise<AccessTokenSubject | null>
}

/** Signs with the newest key and accepts all keys that still verify. */
export function createAccessTokenIssuer(deps: {
  readonly keys: AccessTokenKeys
  readonly now: () => Date
  readonly newId: () => string
}): AccessTokenIssuer {
  const verified = createVerifiedTokens<AccessTokenSubject>()
  return {
    async issue(subject, lifetimeSeconds) {
      const { kid, key } = await deps.keys.signing()
      const issuedAt = Math.floor(deps.now().getTime() / 1000)
      return new SignJWT(claimsOf(subject))
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(subject.name)
        .setJti(deps.newId())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + lifetimeSeconds)
        .sign(key)
    },

    async verify(token) {
      const known = verified.find(token)
      const kid = known?.kid ?? readKeyId(token)
      // Looked up for a cached token too: its key may have been retired.
      const key = kid === null ? null : await deps.keys.verifying(kid)
      if (kid === null || key === null) return null
      if (known !== null) return known.expiresMs > deps.now().getTime() ? known.subject : null
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          typ: TYPE,
          issuer: ISSUER,
          audience: AUDIENCE,
          requiredClaims: ['sub', 'jti', 'exp', 'iat'],
          currentDate: deps.now(),
        })
        const subject = hasBoundedLife(payload, deps.now()) ? readSubject(payload) : null
        if (subject !== null && payload.exp !== undefined)
          verified.keep(token, { subject, kid, expiresMs: payload.exp * 1000 })
        return subject
      } catch {
        // All invalid tokens get the same answer.
        return null
      }
    },
  }
}

function readKeyId(token: string): string | null {
  try {
    return decodeProtectedHeader(token).kid ?? null
  } catch {
    return null
  }
}

/** A stolen signing key must not sign sessions longer than those that the server issues. */
function hasBoundedLife({ iat, exp }: JWTPayload, now: Date): boolean {
  if (iat === undefined || exp === undefined) return false
  return exp - iat <= MAX_LIFE_SECONDS && iat <= now.getTime() / 1000 + SKEW_SECONDS
}

function claimsOf({ kind, tokenId, passwordGeneration }: AccessTokenSubject): JWTPayload {
  return { kind, tid: tokenId, ...(tokenId === null ? { pwd: passwordGeneration ?? 0 } : {}) }
}

function readSubject(payload: JWTPayload): AccessTokenSubject | null {
  const { sub: name, kind, tid: tokenId, pwd = 0 } = payload
  if (typeof name !== 'string' || (kind !== 'user' && kind !== 'organization')) return null
  if (typeof tokenId === 'string') return { kind, name, tokenId }
  if (tokenId !== null || typeof pwd !== 'number') return null
  return { kind, name, tokenId, passwordGeneration: pwd }
}

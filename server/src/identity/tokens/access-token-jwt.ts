import { decodeProtectedHeader, jwtVerify, SignJWT, type JWTPayload } from 'jose'
import type { AccessTokenKeys } from './access-token-keys.ts'
import { createVerifiedTokens } from './verified-tokens.ts'

const ALGORITHM = 'EdDSA'
/** RFC 9068 §2.1; a bundle or any other document of ours never passes for an access token. */
const TYPE = 'at+jwt'
const ISSUER = 'palisade-server'
const AUDIENCE = 'palisade-api'
/** The most that `PALISADE_ACCESS_TOKEN_MINUTES` may say. */
const LONGEST_SECONDS = 60 * 60
/** How far the clocks of two servers of one store may be apart. */
const SKEW_SECONDS = 60

/** Who an access token speaks for, and the secret token it was exchanged for (null: a password). */
export interface AccessTokenSubject {
  readonly kind: 'user' | 'organization'
  /** Username or organization name. */
  readonly name: string
  readonly tokenId: string | null
  /** Beside `tokenId: null`: which of the user's passwords opened the session; 0 when left out. */
  readonly passwordGeneration?: number
  /** Vouched for by an external issuer: no secret of ours opened the session. */
  readonly external?: true
  /** Beside `external`: when its token was issued, in seconds since 1970. */
  readonly issuedAt?: number
}

export interface AccessTokenIssuer {
  /** A compact JWS that expires after `lifetimeSeconds`. */
  issue(subject: AccessTokenSubject, lifetimeSeconds: number): Promise<string>
  /**
   * The subject of a token that is ours, whole and not expired; null for any other text. The same
   * object for the same token, while it is remembered.
   */
  verify(token: string): Promise<AccessTokenSubject | null>
}

/** Signs with the newest of `keys` and accepts all that still verify. */
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
      // Asked also for a known token: its key may have been retired.
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
        const subject = isShort(payload, deps.now()) ? readSubject(payload) : null
        if (subject !== null && payload.exp !== undefined)
          verified.keep(token, { subject, kid, expiresMs: payload.exp * 1000 })
        return subject
      } catch {
        // Every way in which a token is not ours gets the same answer.
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

/**
 * A copied signing key must not sign a session that lasts: the server itself issues none that does.
 */
function isShort({ iat, exp }: JWTPayload, now: Date): boolean {
  if (iat === undefined || exp === undefined) return false
  return exp - iat <= LONGEST_SECONDS && iat <= now.getTime() / 1000 + SKEW_SECONDS
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

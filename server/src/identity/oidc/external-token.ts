import { usernameSchema } from '@palisade/protocol'
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWK,
  type JWTPayload,
} from 'jose'
import { hash } from 'node:crypto'
import type { Log } from '../../operations/log/create-log.ts'
import type { AccessTokenSubject } from '../tokens/access-token-jwt.ts'
import { createVerifiedTokens } from '../tokens/verified-tokens.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { readTeamsClaim } from './teams-claim.ts'

/** Asymmetric algorithms only: with HS*, the public key would be the secret. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
/** RFC 9068 §2.1, and the types of issuers that predate it. Some send none. */
const TYPES = [undefined, 'at+jwt', 'application/at+jwt', 'jwt']
/** Claims of ID tokens and logout tokens that access tokens do not have. */
const FOREIGN_CLAIMS = ['at_hash', 'c_hash', 'events']
export const CLOCK_TOLERANCE_SECONDS = 30
/** A token issued longer ago is refused, regardless of `exp`. */
const MAX_AGE_SECONDS = 24 * 60 * 60
/** Room for 200 groups by UUID (11 KiB), the limit of large issuers. */
const MAX_TOKEN_LENGTH = 16_384

/** Settings of the trusted external issuer. */
export interface OidcSettings {
  /** The exact `iss` of its tokens. */
  readonly issuer: string
  readonly audience: string
  /** Name of the claim that holds the username. */
  readonly usernameClaim: string
  /** Null to leave teams alone. */
  readonly teamsClaim: string | null
}

/** A user as the issuer describes them. They may not exist on this server. */
export interface ExternalSubject extends AccessTokenSubject {
  readonly kind: 'user'
  readonly tokenId: null
  readonly external: true
  /** Names and UUIDs; null if the token has no valid teams claim. */
  readonly teams: readonly string[] | null
  readonly issuedAt: number
}

export interface ExternalTokens {
  /** Whether the unverified `iss` of the token is this issuer. */
  claims(token: string): boolean
  /** Returns the same object for the same token while it is cached; null for an invalid token. */
  verify(token: string): Promise<ExternalSubject | null>
}

export function createExternalTokens(deps: {
  readonly settings: OidcSettings
  readonly keys: IssuerKeys
  readonly log: Pick<Log, 'warn' | 'debug'>
  readonly now: () => Date
}): ExternalTokens {
  const { settings, keys, log, now } = deps
  const verified = createVerifiedTokens<ExternalSubject>()

  function refuse(reason: string): null {
    log.debug({ reason }, 'a token of the OIDC issuer was refused')
    return null
  }

  return {
    claims: (token) => readClaimedIssuer(token) === settings.issuer,

    async verify(token) {
      if (token.length > MAX_TOKEN_LENGTH) return refuse('too long')
      const kid = readKeyId(token)
      if (kid === null) return refuse('no `kid`')
      // Looked up for a cached token too: the key may be withdrawn, or its `kid` reused.
      const key = await keys.find(kid)
      if (key === null) return refuse('unknown key')
      const tokenHash = hash('sha256', token, 'base64url')
      const remembered = verified.find(tokenHash)
      if (remembered?.kid === key.thumbprint)
        return remembered.expiresMs > now().getTime() ? remembered.subject : refuse('expired')
      const read = await readToken(token, key.jwk, settings, now()).catch(codeOf)
      if (typeof read === 'string') return refuse(read)
      const { subject, expiresMs, isTeamsClaimBad } = read
      if (isTeamsClaimBad)
        log.warn({ claim: settings.teamsClaim }, 'a teams claim is not a list of up to 500 strings')
      verified.keep(tokenHash, { subject, expiresMs, kid: key.thumbprint })
      return subject
    },
  }
}

interface ReadToken {
  readonly subject: ExternalSubject
  readonly expiresMs: number
  readonly isTeamsClaimBad: boolean
}

/** Verifies a token. Returns a reason for a refusal; throws JOSEError for an invalid JWT. */
async function readToken(
  token: string,
  key: JWK,
  settings: OidcSettings,
  now: Date,
): Promise<ReadToken | string> {
  const { payload, protectedHeader } = await jwtVerify(token, key, {
    algorithms: ALGORITHMS,
    issuer: settings.issuer,
    audience: settings.audience,
    requiredClaims: ['sub', 'exp', 'iat'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    maxTokenAge: MAX_AGE_SECONDS,
    currentDate: now,
  })
  if (!TYPES.includes(protectedHeader.typ?.toLowerCase()) || !isAccessToken(payload))
    return 'not an access token'
  const subject = readSubject(payload, settings)
  if (subject === null) return `\`${settings.usernameClaim}\` is not a username`
  const lastSecond = Math.min(payload.exp ?? 0, subject.issuedAt + MAX_AGE_SECONDS)
  return {
    subject,
    expiresMs: (lastSecond + CLOCK_TOLERANCE_SECONDS) * 1000,
    isTeamsClaimBad: subject.teams === null && hasTeamsClaim(payload, settings),
  }
}

/** Only the code, because messages and causes may quote the token. */
function codeOf(error: unknown): string {
  return error instanceof errors.JOSEError ? error.code : 'malformed'
}

function readClaimedIssuer(token: string): unknown {
  if (token.length > MAX_TOKEN_LENGTH) return null
  try {
    return decodeJwt(token).iss
  } catch {
    return null
  }
}

function readKeyId(token: string): string | null {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' ? kid : null
  } catch {
    return null
  }
}

/** Keycloak marks access tokens with the claim `typ: Bearer`, ID and refresh tokens otherwise. */
function isAccessToken(payload: JWTPayload): boolean {
  if (FOREIGN_CLAIMS.some((claim) => Object.hasOwn(payload, claim))) return false
  const typ = claimOf(payload, 'typ')
  return typ === undefined || (typeof typ === 'string' && typ.toLowerCase() === 'bearer')
}

function readSubject(
  payload: JWTPayload,
  { usernameClaim, teamsClaim }: OidcSettings,
): ExternalSubject | null {
  const username = usernameSchema.safeParse(claimOf(payload, usernameClaim))
  if (!username.success || payload.iat === undefined) return null
  // An unverified address is free text chosen by its user.
  if (usernameClaim === 'email' && claimOf(payload, 'email_verified') !== true) return null
  return {
    kind: 'user',
    name: username.data,
    tokenId: null,
    external: true,
    teams: teamsClaim === null ? null : readTeamsClaim(claimOf(payload, teamsClaim)),
    issuedAt: payload.iat,
  }
}

function hasTeamsClaim(payload: JWTPayload, { teamsClaim }: OidcSettings): boolean {
  return teamsClaim !== null && Object.hasOwn(payload, teamsClaim)
}

function claimOf(payload: JWTPayload, name: string): unknown {
  return Object.hasOwn(payload, name) ? payload[name] : undefined
}

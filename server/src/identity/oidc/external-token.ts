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

/**
 * One asymmetric algorithm of each kind; no `none`, and no HS*, whose key would be a public one.
 */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
/** RFC 9068 §2.1, and what issuers write who are older than it; some write none. */
const TYPES = [undefined, 'at+jwt', 'application/at+jwt', 'jwt']
/** What an ID token or a logout token has and an access token has not. */
const FOREIGN_CLAIMS = ['at_hash', 'c_hash', 'events']
export const CLOCK_TOLERANCE_SECONDS = 30
/** A token that was issued longer ago is refused, whatever `exp` says. */
const LONGEST_SECONDS = 24 * 60 * 60
/** 200 groups by UUID, the most that large issuers put in, need 11 KiB. */
const MAX_TOKEN_LENGTH = 16_384

/** How an external issuer is trusted. */
export interface OidcSettings {
  /** Exactly as in `iss` of its tokens. */
  readonly issuer: string
  readonly audience: string
  /** Whose text is the username. */
  readonly usernameClaim: string
  /** Null to leave teams alone. */
  readonly teamsClaim: string | null
}

/** A user as the issuer says; whether he exists here is another question. */
export interface ExternalSubject extends AccessTokenSubject {
  readonly kind: 'user'
  readonly tokenId: null
  readonly external: true
  /** Names and UUIDs; null when the token says nothing (usable) about teams. */
  readonly teams: readonly string[] | null
  readonly issuedAt: number
}

export interface ExternalTokens {
  /** Tells by `iss`, which proves nothing yet, whether the token is one for `verify`. */
  claims(token: string): boolean
  /** The same object for the same token, while it is remembered; null for every bad one. */
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
      // Asked also for a known token: its key may have been withdrawn, or another have its name.
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
        log.warn({ claim: settings.teamsClaim }, 'a teams claim is no list of 500 texts or fewer')
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

/** What a token says, or why it says nothing. Throws JOSEError when it is not whole and good. */
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
    maxTokenAge: LONGEST_SECONDS,
    currentDate: now,
  })
  if (!TYPES.includes(protectedHeader.typ?.toLowerCase()) || !isAccessToken(payload))
    return 'no access token'
  const subject = readSubject(payload, settings)
  if (subject === null) return `\`${settings.usernameClaim}\` is no username`
  const lastSecond = Math.min(payload.exp ?? 0, subject.issuedAt + LONGEST_SECONDS)
  return {
    subject,
    expiresMs: (lastSecond + CLOCK_TOLERANCE_SECONDS) * 1000,
    isTeamsClaimBad: subject.teams === null && hasTeamsClaim(payload, settings),
  }
}

/** The code alone: messages and causes may quote the token. */
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

/** Keycloak says in a claim `typ` what it signs; its ID and refresh tokens are no access tokens. */
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
  // An address that nobody has confirmed is whatever its user typed.
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

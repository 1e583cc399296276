import type { TokenResponse } from '@palisade/protocol'
import { unauthenticated } from '../platform/api-error.ts'
import type { Store } from '../store/store.ts'
import type { AccessTokenIssuer, AccessTokenSubject } from './tokens/access-token-jwt.ts'
import { claimedKind, hashSecretToken, kindOfSecretToken } from './tokens/secret-token.ts'
import { isLive } from './authenticate.ts'
import { formatOrganization, formatUser } from './principal.ts'
import { clientNetwork } from '../http/client-network.ts'
import type { ProvePassword } from './sign-in/prove-password.ts'
import type { SignInLimits } from './sign-in/sign-in-limits.ts'
import type { TokenUse } from './token-use.ts'

export interface ExchangeDeps {
  readonly store: Store
  readonly accessTokens: Pick<AccessTokenIssuer, 'issue'>
  readonly signInLimits: SignInLimits
  readonly provePassword: ProvePassword
  readonly tokenUse: TokenUse
  readonly accessTokenMinutes: number
  readonly now: () => Date
}

export interface Credentials {
  /** Username; for an organization token the name of the organization. */
  readonly name: string
  readonly secret: string
  /** Address of the client. */
  readonly address: string
  readonly requestId: string | null
}

export interface Exchanged {
  readonly answer: TokenResponse
  /** The actor as the history records it. */
  readonly actor: string
}

interface Proof {
  readonly subject: AccessTokenSubject
  /** Expiry of the secret itself; null for a password. */
  readonly expiresAt: Date | null
}

/**
 * Exchanges a password, personal token or organization token for an access token. Throws 401 with
 * the same message for every wrong name or secret, or 429 as in `SignInLimits`.
 */
export function createTokenExchange(
  deps: ExchangeDeps,
): (credentials: Credentials) => Promise<Exchanged> {
  return async (credentials) => {
    const isPassword = claimedKind(credentials.secret) === null
    const proof = await (isPassword ? byPassword(deps, credentials) : byToken(deps, credentials))
    if (proof === null) throw unauthenticated('the name or the secret is wrong')
    return { answer: await issue(deps, proof), actor: formatSubject(proof.subject) }
  }
}

async function byPassword(
  deps: ExchangeDeps,
  { name, secret, address, requestId }: Credentials,
): Promise<Proof | null> {
  const user = await deps.provePassword({ name, password: secret, address, requestId })
  if (user === null) return null
  const passwordGeneration = user.password_generation
  return { subject: { kind: 'user', name, tokenId: null, passwordGeneration }, expiresAt: null }
}

/** Limits apply only to wrong tokens: a valid one, with its 256 random bits, was not guessed. */
async function byToken(deps: ExchangeDeps, credentials: Credentials): Promise<Proof | null> {
  const proof = await proveToken(deps, credentials)
  if (proof === null) deps.signInLimits.countWrongToken(clientNetwork(credentials.address))
  return proof
}

async function proveToken(
  deps: ExchangeDeps,
  { name, secret }: Credentials,
): Promise<Proof | null> {
  const kind = kindOfSecretToken(secret)
  if (kind === null) return null
  const hash = hashSecretToken(secret)
  const token = await deps.store.read((reader) => reader.accessTokens.findBySecretHash(hash))
  if (token === null || !isLive(token, deps.now())) return null
  const owner = token.kind === 'personal' ? token.username : token.org
  if (owner !== name) return null
  deps.tokenUse.note(token.id)
  return {
    subject: {
      kind: token.kind === 'personal' ? 'user' : 'organization',
      name,
      tokenId: token.id,
    },
    expiresAt: new Date(token.expires_at),
  }
}

function formatSubject({ kind, name, tokenId }: AccessTokenSubject): string {
  return kind === 'user' ? formatUser(name) : formatOrganization(name, tokenId ?? '')
}

async function issue(deps: ExchangeDeps, { subject, expiresAt }: Proof): Promise<TokenResponse> {
  const configured = deps.accessTokenMinutes * 60
  const left =
    expiresAt === null ? configured : Math.ceil((expiresAt.getTime() - deps.now().getTime()) / 1000)
  const expires_in = Math.max(1, Math.min(configured, left))
  const access_token = await deps.accessTokens.issue(subject, expires_in)
  return { access_token, token_type: 'Bearer', expires_in, token: access_token }
}

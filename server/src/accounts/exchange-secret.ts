import type { TokenResponse } from '@palisade/protocol'
import { unauthenticated } from '../http/api-error.ts'
import type { Store } from '../store/store.ts'
import type { AccessTokenIssuer, AccessTokenSubject } from '../tokens/access-token-jwt.ts'
import { claimedKind, hashSecretToken, kindOfSecretToken } from '../tokens/secret-token.ts'
import { isLive } from './authenticate.ts'
import type { PasswordQueue } from './password-queue.ts'
import { verifyPassword } from './password.ts'
import { throttled, type Throttles } from './throttled.ts'
import type { TokenUse } from './token-use.ts'

export interface ExchangeDeps {
  readonly store: Store
  readonly accessTokens: AccessTokenIssuer
  readonly throttles: Throttles
  readonly passwordQueue: PasswordQueue
  readonly tokenUse: TokenUse
  readonly accessTokenMinutes: number
  readonly now: () => Date
}

export interface Credentials {
  /** Username, or the organization's name beside an organization token. */
  readonly name: string
  readonly secret: string
  /** Address of the client. */
  readonly address: string
}

interface Proof {
  readonly subject: AccessTokenSubject
  /** When the secret itself ends; null for a password. */
  readonly expiresAt: Date | null
}

/**
 * Exchanges a password, personal token or organization token for an access token. Throws 401, the
 * same for every way of being wrong, or 429 after 20 failures a minute of the account or address.
 */
export function createTokenExchange(
  deps: ExchangeDeps,
): (credentials: Credentials) => Promise<TokenResponse> {
  return async (credentials) => {
    const proof =
      claimedKind(credentials.secret) === null
        ? // The throttle is asked when the turn comes, or a burst would slip through while it waits.
          await deps.passwordQueue.run(() => attempt(deps, credentials, provePassword))
        : await attempt(deps, credentials, proveToken)
    return issue(deps, proof)
  }
}

async function attempt(
  deps: ExchangeDeps,
  credentials: Credentials,
  prove: (deps: ExchangeDeps, credentials: Credentials) => Promise<Proof | null>,
): Promise<Proof> {
  const proof = await throttled(deps.throttles, credentials, () => prove(deps, credentials))
  if (proof !== null) return proof
  throw unauthenticated('the name or the secret is wrong')
}

async function provePassword(deps: ExchangeDeps, { name, secret }: Credentials) {
  const user = await deps.store.read((reader) => reader.users.find(name))
  if (!(await verifyPassword(secret, user?.password_hash ?? null))) return null
  const passwordGeneration = user?.password_generation ?? 0
  return {
    subject: { kind: 'user' as const, name, tokenId: null, passwordGeneration },
    expiresAt: null,
  }
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

async function issue(deps: ExchangeDeps, { subject, expiresAt }: Proof): Promise<TokenResponse> {
  const configured = deps.accessTokenMinutes * 60
  const left =
    expiresAt === null ? configured : Math.ceil((expiresAt.getTime() - deps.now().getTime()) / 1000)
  const expires_in = Math.max(1, Math.min(configured, left))
  const access_token = await deps.accessTokens.issue(subject, expires_in)
  return { access_token, token_type: 'Bearer', expires_in, token: access_token }
}

import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { Log } from '../operations/log/create-log.ts'
import type { Metrics } from '../operations/metrics/create-metrics.ts'
import type { Sources } from '../platform/sources.ts'
import type { Store } from '../store/store.ts'
import { createAuthenticator, type Authenticate } from './authenticate.ts'
import { createWriteLimits, type WriteLimits, type WriteRates } from './limits/write-limits.ts'
import { createExternalTokens, type OidcSettings } from './oidc/external-token.ts'
import { createPasswordQueue, type PasswordQueue } from './sign-in/password-queue.ts'
import { createPasswordProof, type ProvePassword } from './sign-in/prove-password.ts'
import { createSignInJournal, type SignInJournal } from './sign-in/sign-in-journal.ts'
import { createSignInLimits, type SignInLimits } from './sign-in/sign-in-limits.ts'
import { createTokenUse, notingUse, type TokenUse } from './token-use.ts'
import { createAccessTokenIssuer, type AccessTokenIssuer } from './tokens/access-token-jwt.ts'
import { createAccessTokenKeys } from './tokens/access-token-keys.ts'
import type { ObserveSignIn } from './sign-in/sign-in-outcome.ts'
import { createSessionTokens, type SessionTokens } from './oidc/external-sessions.ts'
import { createIssuerKeys } from './oidc/issuer-keys.ts'

/** The parts that turn a secret at sign-in into the principal of a request. */
export interface Identity {
  readonly authenticate: Authenticate
  readonly accessTokens: AccessTokenIssuer
  readonly tokenUse: TokenUse
  readonly passwordQueue: PasswordQueue
  readonly provePassword: ProvePassword
  readonly signInLimits: SignInLimits
  readonly journal: SignInJournal
  readonly writeLimits: WriteLimits
}

export function openIdentity(deps: {
  readonly settings: { readonly oidc: OidcSettings | null; readonly writeRates: WriteRates }
  readonly store: Store
  readonly audited: AuditedStore
  readonly metrics: Metrics
  readonly log: Log
  readonly sources: Sources
}): Identity {
  const { settings, store, audited, metrics, log, sources } = deps
  const keys = createAccessTokenKeys({ store, ...sources })
  const accessTokens = observeIssuer(createAccessTokenIssuer({ keys, ...sources }), metrics)
  const sessionTokens = openSessionTokens({ ...deps, oidc: settings.oidc }, accessTokens)
  const tokenUse = createTokenUse({ store, ...sources })
  const authenticator = createAuthenticator({ store, accessTokens: sessionTokens, ...sources })

  const passwordQueue = createPasswordQueue()
  const signInLimits = createSignInLimits(sources.monotonicMs)
  const journal = createSignInJournal({ store: audited, log, ...sources })
  const signIn = { store: audited, journal, signInLimits, passwordQueue }
  return {
    authenticate: notingUse(authenticator, tokenUse),
    accessTokens,
    tokenUse,
    passwordQueue,
    provePassword: createPasswordProof({ ...signIn, ...sources }),
    signInLimits,
    journal,
    writeLimits: createWriteLimits(settings.writeRates, sources.monotonicMs),
  }
}

/** Wraps the issuer to record the time of signing. */
function observeIssuer(issuer: AccessTokenIssuer, metrics: Metrics): AccessTokenIssuer {
  return {
    ...issuer,
    issue: (subject, lifetimeSeconds) =>
      metrics.timeSigning('access_token', () => issuer.issue(subject, lifetimeSeconds)),
  }
}

interface SessionTokenDeps {
  readonly oidc: OidcSettings | null
  readonly audited: AuditedStore
  readonly log: Log
  readonly sources: Sources
  readonly metrics: { readonly observeSignIn: ObserveSignIn }
}

/** Accepts access tokens of this server and of the external issuer, if one is configured. */
function openSessionTokens(
  { oidc, audited, log, sources, metrics }: SessionTokenDeps,
  own: AccessTokenIssuer,
): SessionTokens {
  if (oidc === null) return own
  const { issuer } = oidc
  const keys = createIssuerKeys({ issuer, log, ...sources })
  const external = createExternalTokens({ settings: oidc, keys, log, ...sources })
  return createSessionTokens({
    own,
    external,
    store: audited,
    issuer,
    observeSignIn: metrics.observeSignIn,
  })
}

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { Log } from '../operations/log/create-log.ts'
import type { Metrics } from '../operations/metrics/create-metrics.ts'
import type { BackgroundTask } from '../platform/background-task.ts'
import type { Sources } from '../platform/sources.ts'
import type { Store } from '../store/store.ts'
import { createAuthenticator, type Authenticate } from './authenticate.ts'
import { createAnswerExpiry } from './idempotency/forget-answers.ts'
import { createWriteLimits, type WriteLimits, type WriteRates } from './limits/write-limits.ts'
import { createSessionTokens } from './oidc/external-sessions.ts'
import {
  createExternalTokens,
  type ExternalTokens,
  type OidcSettings,
} from './oidc/external-token.ts'
import { createIssuerKeys } from './oidc/issuer-keys.ts'
import { createPasswordQueue, type PasswordQueue } from './sign-in/password-queue.ts'
import { createPasswordProof, type ProvePassword } from './sign-in/prove-password.ts'
import { createSignInJournal } from './sign-in/sign-in-journal.ts'
import { createSignInLimits, type SignInLimits } from './sign-in/sign-in-limits.ts'
import { tokenRoutes } from './token-routes.ts'
import { createTokenUse, notingUse, type TokenUse } from './token-use.ts'
import { createAccessTokenIssuer } from './tokens/access-token-jwt.ts'
import { createAccessTokenKeys } from './tokens/access-token-keys.ts'
import { createRevocationFinish } from './tokens/finish-revocations.ts'

/** The parts that turn a secret at sign-in into the principal of a request. */
export interface Identity {
  readonly authenticate: Authenticate
  readonly tokenUse: TokenUse
  readonly passwordQueue: PasswordQueue
  readonly provePassword: ProvePassword
  readonly signInLimits: SignInLimits
  readonly writeLimits: WriteLimits
  /** Exchanges secrets for access tokens, and shows the keys that verify them. */
  readonly routes: FastifyPluginAsyncZod
  readonly jobs: readonly BackgroundTask[]
}

export interface IdentitySettings {
  /** The external issuer of accepted access tokens; null without one. */
  readonly oidc: OidcSettings | null
  readonly writeRates: WriteRates
  readonly accessTokenMinutes: number
}

/** Composes sign-in and authentication. */
export function composeIdentity(deps: {
  readonly settings: IdentitySettings
  readonly store: Store
  readonly audited: AuditedStore
  readonly metrics: Pick<Metrics, 'observeSignIn' | 'timeSigning'>
  readonly log: Log
  readonly sources: Sources
}): Identity {
  const { settings, store, audited, metrics, log } = deps
  const { now, newId, monotonicMs } = deps.sources
  const { observeSignIn } = metrics

  const keys = createAccessTokenKeys({ store, now })
  const own = createAccessTokenIssuer({ keys, now, newId })
  const accessTokens =
    settings.oidc === null
      ? own
      : createSessionTokens({
          own,
          external: openExternalTokens(settings.oidc, log, now),
          store: audited,
          issuer: settings.oidc.issuer,
          observeSignIn,
        })
  const tokenUse = createTokenUse({ store, now })
  const authenticate = notingUse(createAuthenticator({ store, accessTokens, now }), tokenUse)

  const passwordQueue = createPasswordQueue()
  const signInLimits = createSignInLimits(monotonicMs)
  const journal = createSignInJournal({ store: audited, log, monotonicMs })
  const provePassword = createPasswordProof({
    store: audited,
    journal,
    signInLimits,
    passwordQueue,
    now,
  })
  const routes = tokenRoutes({
    store,
    authenticate,
    accessTokens: {
      issue: (subject, lifetimeSeconds) =>
        metrics.timeSigning('access_token', () => own.issue(subject, lifetimeSeconds)),
    },
    signInLimits,
    provePassword,
    tokenUse,
    accessTokenMinutes: settings.accessTokenMinutes,
    now,
    observeSignIn,
    journal,
  })
  return {
    authenticate,
    tokenUse,
    passwordQueue,
    provePassword,
    signInLimits,
    writeLimits: createWriteLimits(settings.writeRates, monotonicMs),
    routes,
    jobs: [
      createAnswerExpiry({ store, now, log }),
      createRevocationFinish({ store: audited, log }),
    ],
  }
}

function openExternalTokens(settings: OidcSettings, log: Log, now: () => Date): ExternalTokens {
  const keys = createIssuerKeys({ issuer: settings.issuer, log, now })
  return createExternalTokens({ settings, keys, log, now })
}

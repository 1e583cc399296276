import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Log } from '../../operations/log/create-log.ts'
import type { Sources } from '../../platform/sources.ts'
import type { AccessTokenIssuer } from '../tokens/access-token-jwt.ts'
import type { ObserveSignIn } from '../sign-in/sign-in-outcome.ts'
import { createSessionTokens, type SessionTokens } from './external-sessions.ts'
import { createExternalTokens, type OidcSettings } from './external-token.ts'
import { createIssuerKeys } from './issuer-keys.ts'

export interface SessionTokenDeps {
  readonly oidc: OidcSettings | null
  readonly audited: AuditedStore
  readonly log: Log
  readonly sources: Sources
  readonly metrics: { readonly observeSignIn: ObserveSignIn }
}

/** Accepts access tokens of this server and of the external issuer, if one is configured. */
export function openSessionTokens(
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

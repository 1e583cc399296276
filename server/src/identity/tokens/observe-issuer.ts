import type { AccessTokenIssuer } from './access-token-jwt.ts'
import type { Metrics } from '../../operations/metrics/create-metrics.ts'

/** Wraps the issuer to record the time of signing. */
export function observeIssuer(issuer: AccessTokenIssuer, metrics: Metrics): AccessTokenIssuer {
  return {
    ...issuer,
    issue: (subject, lifetimeSeconds) =>
      metrics.timeSigning('access_token', () => issuer.issue(subject, lifetimeSeconds)),
  }
}

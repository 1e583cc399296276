import type { AccessTokenIssuer } from './access-token-jwt.ts'
import type { Metrics } from '../../operations/metrics/create-metrics.ts'

/** The same issuer; how long it takes to sign is counted. */
export function observeIssuer(issuer: AccessTokenIssuer, metrics: Metrics): AccessTokenIssuer {
  return {
    ...issuer,
    issue: (subject, lifetimeSeconds) =>
      metrics.timeSigning('access_token', () => issuer.issue(subject, lifetimeSeconds)),
  }
}

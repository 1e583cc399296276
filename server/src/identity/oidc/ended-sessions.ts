import type { UserRecord } from '../../store/records.ts'
import { CLOCK_TOLERANCE_SECONDS } from './external-token.ts'

/**
 * Whether a token that an issuer issued then (seconds since 1970) was ended by a revocation of its
 * user. So is one of the next half minute, by the issuer's clock, which may be ahead of ours.
 */
export function isEnded(user: UserRecord, issuedAt: number): boolean {
  const { external_not_before: end } = user
  return end !== null && issuedAt <= Date.parse(end) / 1000 + CLOCK_TOLERANCE_SECONDS
}

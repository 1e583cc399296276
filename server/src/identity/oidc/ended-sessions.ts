import type { UserRecord } from '../../store/records.ts'
import { CLOCK_TOLERANCE_SECONDS } from './external-token.ts'

/**
 * Whether a revocation of the user ended an external token with this `iat` (seconds since 1970).
 * The clock of the issuer may be ahead, so tokens issued within the tolerance after the revocation
 * end too.
 */
export function isEnded(user: UserRecord, issuedAt: number): boolean {
  const { external_not_before: end } = user
  return end !== null && issuedAt <= Date.parse(end) / 1000 + CLOCK_TOLERANCE_SECONDS
}

import type { SyncError } from '@palisade/protocol'

/** What is known about the attempts to fetch; times are RFC 3339 UTC. */
export interface SyncRecord {
  readonly last_attempt_at: string | null
  readonly last_success_at: string | null
  readonly failing_since: string | null
  readonly last_error: SyncError | null
}

export const NO_ATTEMPTS: SyncRecord = {
  last_attempt_at: null,
  last_success_at: null,
  failing_since: null,
  last_error: null,
}

/**
 * The record after one more attempt that began at `beganAt` and ended at `endedAt`; `error` null
 * for a success. `failing_since` is when the first of the failures in a row began.
 */
export function recordAttempt(
  record: SyncRecord,
  attempt: { readonly beganAt: string; readonly endedAt: string; readonly error: SyncError | null },
): SyncRecord {
  const last_attempt_at = attempt.beganAt
  if (attempt.error === null)
    return {
      last_attempt_at,
      last_success_at: attempt.endedAt,
      failing_since: null,
      last_error: null,
    }
  return {
    last_attempt_at,
    last_success_at: record.last_success_at,
    failing_since: record.failing_since ?? attempt.beganAt,
    last_error: attempt.error,
  }
}

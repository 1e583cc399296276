import {
  type SyncError,
  RENEWAL_SECONDS,
  type AwaitedIssue as AwaitedIssueStatus,
  type InForce,
  type SyncResult,
} from '@palisade/protocol'
import { ageAt, ageLimitsOf } from '../../policy/state/agent-state.ts'

/** Record of the fetch attempts; times are RFC 3339 UTC. */
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
 * The record after one more attempt, from `beganAt` to `endedAt`; `error` is null for a success.
 * `failing_since` is the start of the first failure in a row.
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

/** Why the present timestamp does not suffice, and after which time a better one is issued. */
export interface AwaitedIssue {
  readonly reason: 'clock_was_ahead'
  /** In milliseconds since 1970. */
  readonly afterMs: number
}

/** The known times of a machine, in milliseconds since 1970. */
export interface Times {
  /** The trusted time, which ages policies. */
  readonly nowMs: number
  /** The same without the highest reading of the clock, which may have been corrected since. */
  readonly mendedMs: number
  /** The latest accepted issue. */
  readonly issuedMs: number
}

/**
 * Null while the timestamp suffices. A clock that was ahead makes policies old until a later issue
 * proves it wrong; without a request the next issue may take an hour.
 */
export function findAwaitedIssue(
  bundle: { readonly stale_at: string; readonly expires_at: string } | null,
  { nowMs, mendedMs, issuedMs }: Times,
): AwaitedIssue | null {
  if (bundle === null) return null
  const limits = ageLimitsOf(bundle)
  if (ageAt(nowMs, limits) === ageAt(mendedMs, limits)) return null
  return { reason: 'clock_was_ahead', afterMs: issuedMs }
}

/** Formats it for `palisade status`. */
export function describeAwaitedIssue(awaited: AwaitedIssue | null): AwaitedIssueStatus | null {
  if (awaited === null) return null
  const { reason, afterMs } = awaited
  const signedFromMs = afterMs + RENEWAL_SECONDS * 1000
  return {
    reason,
    issued_after: new Date(afterMs).toISOString(),
    signed_from: new Date(signedFromMs).toISOString(),
  }
}

/** Formats an attempt for `palisade sync`. */
export function describeSync(
  { outcome, revision, error }: SyncResult,
  in_force: InForce,
  awaited: AwaitedIssue | null,
): SyncResult {
  const awaiting = describeAwaitedIssue(awaited)
  return { outcome, revision, error, in_force, ...(awaiting === null ? {} : { awaiting }) }
}

import type { BreakGlassStatus } from '@palisade/protocol'
import type { SignedGrant } from './verify-grant.ts'

const SLICE_MS = 60_000

/**
 * A grant with a meter of its use, independent of the wall clock. Setting a clock back or
 * restarting the agent must not prolong a grant. So time is paid for in slices before it passes,
 * and each payment is on disk. Ending the agent early forfeits the rest of a slice.
 */
export interface GrantInForce {
  readonly grant: SignedGrant
  /** When it began, in trusted time. */
  readonly begunMs: number
  /** Time used up when the monotonic clock read `sinceUptimeMs`. */
  readonly spentMs: number
  readonly sinceUptimeMs: number
  /** Paid for; it must be on disk before the grant counts. */
  readonly paidMs: number
  /** When it was last logged, in monotonic milliseconds. */
  readonly remindedAtMs: number
}

/** Begins a grant, or resumes one of which `spentMs` are used up. */
export function putInForce(
  grant: SignedGrant,
  begunMs: number,
  { spentMs, uptimeMs }: { readonly spentMs: number; readonly uptimeMs: number },
): GrantInForce {
  const atUptime = { sinceUptimeMs: uptimeMs, remindedAtMs: uptimeMs }
  const unpaid = { grant, begunMs, spentMs, paidMs: spentMs, ...atUptime }
  return { ...unpaid, paidMs: duePaymentMs(unpaid, uptimeMs) ?? spentMs }
}

/** Time left by the trusted clock or by the meter, whichever is less; at least 0. */
export function remainingMs(
  inForce: GrantInForce,
  { nowMs, uptimeMs }: { readonly nowMs: number; readonly uptimeMs: number },
): number {
  const byClockMs = inForce.begunMs + durationOf(inForce) - nowMs
  return Math.max(0, Math.min(byClockMs, durationOf(inForce) - spentBy(inForce, uptimeMs)))
}

/** The payment that must be on disk from now on; null while enough is paid. */
export function duePaymentMs(inForce: GrantInForce, uptimeMs: number): number | null {
  const { paidMs } = inForce
  const [durationMs, spentMs] = [durationOf(inForce), spentBy(inForce, uptimeMs)]
  if (paidMs >= durationMs || paidMs - spentMs > SLICE_MS / 2) return null
  return Math.min(Math.ceil(spentMs) + SLICE_MS, durationMs)
}

/** Time used up by the meter; at most the duration of the grant. */
export function spentBy(inForce: GrantInForce, uptimeMs: number): number {
  const { spentMs, sinceUptimeMs } = inForce
  return Math.min(spentMs + Math.max(0, uptimeMs - sinceUptimeMs), durationOf(inForce))
}

export function describeGrant({ grant, begunMs }: GrantInForce, untilMs: number): BreakGlassStatus {
  const { id, reason, issued_by } = grant.signed
  return { id, reason, issued_by, begun_at: formatTime(begunMs), until: formatTime(untilMs) }
}

function durationOf({ grant }: GrantInForce): number {
  return grant.signed.duration_seconds * 1000
}

function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

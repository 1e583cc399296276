import type { BreakGlassStatus } from '@palisade/protocol'
import { remainingOf, startMeter, type GrantMeter } from '../../policy/grants/grant-meter.ts'
import type { SignedGrant } from './verify-grant.ts'

export interface GrantInForce {
  readonly grant: SignedGrant
  /** When it began, in trusted time. */
  readonly begunMs: number
  readonly meter: GrantMeter
  /** When it was last logged, in monotonic milliseconds. */
  readonly remindedAtMs: number
}

/** Begins or resumes a grant; `spentMs` are used up, `paidMs` are paid for on disk. */
export function putInForce(
  grant: SignedGrant,
  begunMs: number,
  { spentMs, paidMs, uptimeMs }: { spentMs: number; paidMs: number; uptimeMs: number },
): GrantInForce {
  const meter = startMeter(grant.signed.duration_seconds * 1000, spentMs, uptimeMs)
  return { grant, begunMs, meter: { ...meter, paidMs }, remindedAtMs: uptimeMs }
}

/** Time left by the trusted clock or by the meter, whichever is less; at least 0. */
export function remainingMs(
  { begunMs, meter }: GrantInForce,
  { nowMs, uptimeMs }: { readonly nowMs: number; readonly uptimeMs: number },
): number {
  const byClockMs = begunMs + meter.durationMs - nowMs
  return Math.max(0, Math.min(byClockMs, remainingOf(meter, uptimeMs)))
}

export function describeGrant({ grant, begunMs }: GrantInForce, untilMs: number): BreakGlassStatus {
  const { id, reason, issued_by } = grant.signed
  return { id, reason, issued_by, begun_at: formatTime(begunMs), until: formatTime(untilMs) }
}

function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

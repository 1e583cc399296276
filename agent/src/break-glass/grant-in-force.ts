import type { BreakGlassStatus } from '@palisade/protocol'
import { remainingOf, startMeter, type GrantMeter } from './grant-meter.ts'
import type { SignedGrant } from './judge-grant.ts'

export interface GrantInForce {
  readonly grant: SignedGrant
  /** By the trusted time. */
  readonly begunMs: number
  readonly meter: GrantMeter
  /** When a line was last written about it, by the monotonic clock. */
  readonly remindedAtMs: number
}

/** One that is begun now, or goes on; `spentMs` of it are used up, `paidMs` are on disk. */
export function putInForce(
  grant: SignedGrant,
  begunMs: number,
  { spentMs, paidMs, uptimeMs }: { spentMs: number; paidMs: number; uptimeMs: number },
): GrantInForce {
  const meter = startMeter(grant.signed.duration_seconds * 1000, spentMs, uptimeMs)
  return { grant, begunMs, meter: { ...meter, paidMs }, remindedAtMs: uptimeMs }
}

/** What is left by the trusted clock or by what really passed, whichever is less; not below 0. */
export function restOf(
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

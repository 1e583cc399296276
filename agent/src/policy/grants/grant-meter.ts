/**
 * How much of a grant is used up, independent of the wall clock. Setting a clock back or restarting
 * the agent must not prolong a grant. So time is paid for in slices before it passes, and each
 * payment is on disk. Ending the agent early forfeits the rest of a slice.
 */
export interface GrantMeter {
  readonly durationMs: number
  /** Time used up when the monotonic clock read `sinceUptimeMs`. */
  readonly spentMs: number
  readonly sinceUptimeMs: number
  /** Paid for on disk. */
  readonly paidMs: number
}

const SLICE_MS = 60_000

/** Starts the meter of a grant with `paidMs` paid before: 0, or the value on disk. */
export function startMeter(durationMs: number, paidMs: number, uptimeMs: number): GrantMeter {
  return { durationMs, spentMs: paidMs, sinceUptimeMs: uptimeMs, paidMs }
}

export function remainingOf(meter: GrantMeter, uptimeMs: number): number {
  return Math.max(0, meter.durationMs - spentOf(meter, uptimeMs))
}

/** The payment that must be on disk from now on; null while enough is paid. */
export function duePaymentMs(meter: GrantMeter, uptimeMs: number): number | null {
  const spentMs = spentOf(meter, uptimeMs)
  if (meter.paidMs >= meter.durationMs || meter.paidMs - spentMs > SLICE_MS / 2) return null
  return Math.min(Math.ceil(spentMs) + SLICE_MS, meter.durationMs)
}

function spentOf({ spentMs, sinceUptimeMs }: GrantMeter, uptimeMs: number): number {
  return spentMs + Math.max(0, uptimeMs - sinceUptimeMs)
}

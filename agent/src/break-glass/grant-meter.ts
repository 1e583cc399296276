/**
 * How much of a grant is used up, apart from what any clock shows: setting one back, or starting
 * the agent again and again, must not make it longer. So time is paid for in slices before it
 * passes, and what is paid is on disk; who ends the agent in between has lost the rest of a slice.
 */
export interface GrantMeter {
  readonly durationMs: number
  /** Used up when the monotonic clock showed `sinceUptimeMs`. */
  readonly spentMs: number
  readonly sinceUptimeMs: number
  /** On disk. */
  readonly paidMs: number
}

/** As it is kept. */
export interface KeptMeter {
  readonly id: string
  readonly paid_ms: number
}

const SLICE_MS = 60_000

/** A grant of which so much was paid for before: 0, or what was kept. */
export function startMeter(durationMs: number, paidMs: number, uptimeMs: number): GrantMeter {
  return { durationMs, spentMs: paidMs, sinceUptimeMs: uptimeMs, paidMs }
}

export function remainingOf(meter: GrantMeter, uptimeMs: number): number {
  return Math.max(0, meter.durationMs - spentOf(meter, uptimeMs))
}

/** What has to be on disk from now on; null while enough is. */
export function dueOf(meter: GrantMeter, uptimeMs: number): number | null {
  const spentMs = spentOf(meter, uptimeMs)
  if (meter.paidMs >= meter.durationMs || meter.paidMs - spentMs > SLICE_MS / 2) return null
  return Math.min(Math.ceil(spentMs) + SLICE_MS, meter.durationMs)
}

function spentOf({ spentMs, sinceUptimeMs }: GrantMeter, uptimeMs: number): number {
  return spentMs + Math.max(0, uptimeMs - sinceUptimeMs)
}

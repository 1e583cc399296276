import {
  believe,
  boundsOf,
  forgetIssues,
  passTo,
  presentOf,
  recall,
  startTime,
  type Bounds,
  type KeptTime,
  type TrustedTime,
} from './trusted-time.ts'

/** `trusted-time.ts` with the clocks of this machine. */
export interface TrustedClock {
  /** Epoch milliseconds; never falls but when a later issue proves the clock to have been wrong. */
  now(): number
  bounds(): Bounds
  /** At start, before anything is in force. */
  restore(kept: KeptTime | null): void
  recall(issuedMs: number): void
  believe(issuedMs: number, staleMs: number): void
  forgetIssues(): void
  kept(): KeptTime
}

export function createTrustedClock(clocks: {
  /** Epoch milliseconds. */
  readonly wall: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}): TrustedClock {
  const read = () => ({ wallMs: clocks.wall(), uptimeMs: clocks.uptime() })
  let time = startTime(read())
  const pass = (): TrustedTime => (time = passTo(time, read()))

  return {
    now: () => presentOf(pass()),
    bounds: () => boundsOf(pass()),
    restore(kept) {
      time = startTime(read(), kept)
    },
    recall(issuedMs) {
      time = recall(pass(), issuedMs)
    },
    believe(issuedMs, staleMs) {
      time = believe(pass(), issuedMs, staleMs)
    },
    forgetIssues() {
      time = forgetIssues(pass())
    },
    kept() {
      const { seenMs, floorMs } = pass()
      return { seen_ms: seenMs, floor_ms: floorMs }
    },
  }
}

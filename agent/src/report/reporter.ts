import { backOffMs } from '@palisade/client'
import type { DeviceReport } from '@palisade/protocol'

/**
 * Joins changes that come together: a revision, the state that it leads to, the end of an error.
 */
const SETTLE_MS = 250
const PERIOD_MS = 6 * 60 * 60_000
/** Share of the period, to either side. */
const JITTER = 0.1
const RETRY = { firstMs: 5_000, capMs: 15 * 60_000 } as const

export interface ReporterDeps {
  /** Returns the present report. */
  readonly read: () => DeviceReport
  /** Resolves to null once the server has the report. Must not reject. */
  readonly send: (
    report: DeviceReport,
    signal: AbortSignal,
  ) => Promise<{ readonly retryAfterMs: number | null } | null>
  /** 0 to 1, exclusive. */
  readonly random: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}

/** Reports the state of this machine to the server. No other part waits for it or depends on it. */
export interface Reporter {
  /** Call after a possible change. */
  notice(): void
  /**
   * Delays the report of later changes for this long, because many machines have the same to
   * report. The start or end of a grant concerns this machine alone and is reported at once.
   */
  holdBack(ms: number): void
  /** Aborts a running attempt; resolves when it has ended. */
  stop(): Promise<void>
}

/**
 * Sends a report when it differs from the last one that the server received, and every six hours.
 * After a failure it sends the then present report, after a random pause below a bound that
 * doubles.
 */
export function createReporter(deps: ReporterDeps): Reporter {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let received: DeviceReport | null = null
  let failures = 0
  let heldUntilMs = 0
  /** When the noticed change is sent; Infinity without one. */
  let dueMs = Infinity

  const wait = (ms: number): void => {
    clearTimeout(timer)
    if (!stopping.signal.aborted) timer = setTimeout(begin, ms).unref()
  }
  const begin = (): void => {
    dueMs = Infinity
    running = attempt().finally(() => (running = null))
  }

  const attempt = async (): Promise<void> => {
    const report = deps.read()
    const failure = await deps.send(report, stopping.signal)
    if (failure !== null) {
      const pauseMs = backOffMs(failures, { ...RETRY, random: deps.random })
      failures += 1
      // Added to the server's delay, which it may have asked of all machines.
      wait((failure.retryAfterMs ?? 0) + pauseMs)
      return
    }
    failures = 0
    received = report
    wait(
      isOther(deps.read(), received)
        ? SETTLE_MS
        : PERIOD_MS * (1 - JITTER + 2 * JITTER * deps.random()),
    )
  }

  return {
    notice() {
      // A pause after a failure is not shortened: the next report will be the newest anyway.
      if (running !== null || failures > 0) return
      const report = deps.read()
      if (!isOther(report, received)) return
      const nowMs = deps.uptime()
      const isOwn = isOther(report.break_glass, received?.break_glass)
      // Never later than planned: constant changes, or a server with endless hints, would postpone
      // the report for ever.
      dueMs = Math.min(dueMs, Math.max(nowMs + SETTLE_MS, isOwn ? 0 : heldUntilMs))
      wait(Math.max(dueMs - nowMs, 0))
    },
    holdBack(ms) {
      heldUntilMs = deps.uptime() + ms
    },
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}

function isOther(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b)
}

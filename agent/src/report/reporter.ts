import { backOffMs } from '@palisade/client'
import type { DeviceReport } from '@palisade/protocol'

/** For what changes together: a revision, the state that it leads to, and the end of an error. */
const SETTLE_MS = 250
const PERIOD_MS = 6 * 60 * 60_000
/** Of the period, to either side. */
const JITTER = 0.1
const RETRY = { firstMs: 5_000, capMs: 15 * 60_000 } as const

export interface ReporterDeps {
  /** What there is to say now. */
  readonly read: () => DeviceReport
  /** Null once the server has it. Must not reject. */
  readonly send: (
    report: DeviceReport,
    signal: AbortSignal,
  ) => Promise<{ readonly retryAfterMs: number | null } | null>
  /** 0 to 1, exclusive. */
  readonly random: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}

/** Tells the server how this machine fares. Nothing waits for it, and nothing is decided by it. */
export interface Reporter {
  /** Something may be another than it was. */
  notice(): void
  /**
   * What is noticed from now on is not sent for so long: many machines have the same to say. A
   * grant that begins or ends is this machine's alone, and is told at once.
   */
  holdBack(ms: number): void
  /** Breaks off a running attempt; resolves when it has ended. */
  stop(): Promise<void>
}

/**
 * Sends a report when it differs from the last one that the server has, and every six hours. After
 * a failure it is sent again, as it is by then, after a random pause below a bound that doubles.
 */
export function createReporter(deps: ReporterDeps): Reporter {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let received: DeviceReport | null = null
  let failures = 0
  let heldUntilMs = 0
  /** When what was noticed is sent; Infinity while nothing was. */
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
      // Beyond what the server asked for: it may have asked all machines for the same.
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
      // A pause after a failure is not cut short: what is sent then is the newest anyway.
      if (running !== null || failures > 0) return
      const report = deps.read()
      if (!isOther(report, received)) return
      const nowMs = deps.uptime()
      const isOwn = isOther(report.break_glass, received?.break_glass)
      // Never later than it was to be: what goes on changing, or a server with hints without end,
      // would put it off for ever.
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

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Log } from '../log/create-log.ts'
import { createOverload, UNLIMITED, type Overload } from './overload.ts'

const SAMPLE_MS = 50
const WATCH_MS = 1000
/** While it lasts, the log says so this often. */
const REPEAT_MS = 60_000

export interface WatchedOverload {
  readonly overload: Overload
  stop(): void
}

/** Measures the lateness of the event loop once a second; a limit of 0 ms turns this off. */
export function watchOverload(deps: {
  readonly limitMs: number
  readonly log: Log
  readonly random: () => number
}): WatchedOverload {
  if (deps.limitMs === 0) return { overload: UNLIMITED, stop: () => undefined }
  const overload = createOverload(deps)
  const tell = createOverloadLog(overload, deps.log)
  const histogram = monitorEventLoopDelay({ resolution: SAMPLE_MS })
  histogram.enable()
  const timer = setInterval(() => {
    // The median: one long computation is no overload, every turn being long is.
    const medianMs = histogram.count === 0 ? WATCH_MS : histogram.percentile(50) / 1e6
    histogram.reset()
    overload.note(Math.max(0, medianMs - SAMPLE_MS))
    tell(performance.now())
  }, WATCH_MS).unref()
  return {
    overload,
    stop() {
      clearInterval(timer)
      histogram.disable()
    },
  }
}

/** One line at the beginning, one a minute, one at the end; to be called after each `note`. */
export function createOverloadLog(
  overload: Pick<Overload, 'share' | 'delayMs' | 'turnedAway'>,
  log: Pick<Log, 'warn' | 'info'>,
): (nowMs: number) => void {
  let toldMs: number | null = null
  let before = 0
  return (nowMs) => {
    const share = overload.share()
    if (share === 0 && toldMs === null) return
    if (share > 0 && toldMs !== null && nowMs - toldMs < REPEAT_MS) return
    const turned_away = overload.turnedAway() - before
    const found = { share: round(share), delay_ms: Math.round(overload.delayMs()), turned_away }
    before = overload.turnedAway()
    toldMs = share === 0 ? null : nowMs
    if (share === 0) log.info(found, 'machines are no longer asked to wait')
    else log.warn(found, 'overloaded: machines are asked to wait')
  }
}

function round(share: number): number {
  return Math.round(share * 100) / 100
}

import type { ProbeResult } from '@palisade/protocol'
import type { AgentLog } from '../../host/agent-log.ts'
import type { Timetable } from '../../sync/update/timetable.ts'
import type { ProbeName, ProbeResults } from './probe-results.ts'

/** A part of the agent that can test itself. */
export interface Probed {
  readonly name: ProbeName
  /** Must not reject, and must end by itself. */
  readonly probe: () => Promise<ProbeResult>
  /**
   * Whether the first probe waits until the agent has settled: it starts processes, which would
   * delay the programs that wait for the agent.
   */
  readonly isCostly?: boolean
}

/** Lets every enforcement point test itself at the start and by a timetable. */
export interface Prober {
  start(): void
  /** Resolves when no probe runs any more. */
  stop(): Promise<void>
}

const SETTLED_AFTER_MS = 10_000
/** A point that failed is tried again so soon, because people may have mended it. */
const RETRY_MS = 5 * 60_000

export function createProber(deps: {
  readonly points: readonly Probed[]
  readonly results: Pick<ProbeResults, 'all' | 'note'>
  readonly timetable: Timetable
  /** Called when a point has its first result, and when it fails or recovers. */
  readonly onChange: () => void
  readonly log: Pick<AgentLog, 'error' | 'info'>
  /** Milliseconds until the first probe of a costly point. Default 10,000. */
  readonly settledAfterMs?: number
}): Prober {
  const { points, results, log, settledAfterMs = SETTLED_AFTER_MS } = deps
  let running: Promise<void> | null = null
  const waiting = new Set<Probed>()
  let isStopped = false
  let settling: NodeJS.Timeout | undefined
  let retry: NodeJS.Timeout | undefined

  const probe = async ({ name, probe: test }: Probed): Promise<void> => {
    const result = await test()
    const former = results.all()[name]
    results.note(name, result)
    if (former?.ok === result.ok) return
    const line = { point: name, detail: result.detail }
    if (result.ok) log.info(line, 'the self-probe passed')
    else log.error(line, 'the self-probe failed: the policy may not be in force')
    deps.onChange()
  }
  const probeWaiting = async (): Promise<void> => {
    for (const point of waiting) {
      waiting.delete(point)
      await probe(point)
    }
    running = null
    clearTimeout(retry)
    const last = results.all()
    const failed = points.filter(({ name }) => last[name]?.ok === false)
    if (failed.length > 0 && !isStopped) retry = setTimeout(run, RETRY_MS, failed).unref()
  }
  /** One probe at a time. */
  const run = (tested: readonly Probed[]): void => {
    for (const point of tested) waiting.add(point)
    running ??= probeWaiting()
  }

  return {
    start() {
      run(points.filter(({ isCostly }) => isCostly !== true))
      const costly = points.filter(({ isCostly }) => isCostly === true)
      settling = setTimeout(run, settledAfterMs, costly).unref()
      deps.timetable.start(() => run(points))
    },
    async stop() {
      isStopped = true
      waiting.clear()
      clearTimeout(settling)
      clearTimeout(retry)
      deps.timetable.stop()
      await running
    },
  }
}

const HOUR_MS = 3_600_000

/** The next two full hours, in epoch milliseconds. */
export function everyHour(clock: () => number): () => readonly number[] {
  return () => {
    const first = (Math.floor(clock() / HOUR_MS) + 1) * HOUR_MS
    return [first, first + HOUR_MS]
  }
}

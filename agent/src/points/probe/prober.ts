import type { ProbeResult } from '@palisade/protocol'
import type { AgentLog } from '../../agent-log.ts'
import type { Timetable } from '../../sync/update/timetable.ts'
import type { EnforcementPoint, PointName } from '../enforcement-point.ts'

/** An enforcement point that can test itself. */
export interface ProbedPoint extends EnforcementPoint {
  /** Must not reject. */
  readonly probe: () => Promise<ProbeResult>
}

/** Lets every enforcement point test itself at the start and by a timetable. */
export interface Prober {
  start(): void
  /** Resolves when no probe runs any more. */
  stop(): Promise<void>
  /** The last result of each point; null before the first. */
  results(): Readonly<Record<PointName, ProbeResult | null>>
}

export function createProber(deps: {
  readonly points: readonly ProbedPoint[]
  readonly timetable: Timetable
  /** Called when a point has its first result, and when it fails or recovers. */
  readonly onChange: () => void
  readonly log: Pick<AgentLog, 'error' | 'info'>
}): Prober {
  const results: Record<PointName, ProbeResult | null> = { proxy: null }
  let running: Promise<void> | null = null

  const probe = async (): Promise<void> => {
    for (const point of deps.points) {
      const result = await point.probe()
      const former = results[point.name]
      results[point.name] = result
      if (former?.ok === result.ok) continue
      const line = { point: point.name, detail: result.detail }
      if (result.ok) deps.log.info(line, 'the self-probe passed')
      else deps.log.error(line, 'the self-probe failed: the policy may not be in force')
      deps.onChange()
    }
  }
  const run = (): void => {
    running ??= probe().finally(() => (running = null))
  }

  return {
    start() {
      run()
      deps.timetable.start(run)
    },
    async stop() {
      deps.timetable.stop()
      await running
    },
    results: () => ({ ...results }),
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

import { DEFAULT_MINUTES, PERIOD_MS, planFleet, type Extent } from './extent.ts'
import type { FleetRun } from './run-fleet.ts'
import { REQUEST_KINDS, type Second } from './timeline.ts'

const BUCKET_SECONDS = 10
/** A later peak is not part of the agents' return. */
const FIRST_WAVE_SECONDS = 300

/** Ten seconds of a run. Rates are per second. */
export interface Bucket {
  readonly at_s: number
  readonly polls: number
  /** All requests of agents, including polls. */
  readonly requests: number
  /** Requests without a response. */
  readonly unanswered: number
  /** Requests answered 503. */
  readonly busy: number
  /** Agents that have the new revision at the end of the bucket. */
  readonly adopted: number
  /** Share of a processor; null while the server is down. */
  readonly server_cpu: number | null
}

export interface FleetSummary {
  readonly steady: {
    readonly polls_per_second: number
    readonly server_cpu: number
    readonly server_rss: number
    readonly cpu_us_a_poll: number
  }
  /** Milliseconds until that share of all agents had the change. Null when it was never reached. */
  readonly convergence: Readonly<Record<'p50' | 'p99' | 'p999' | 'all', number | null>>
  readonly adopted: number
  /** Agents that the server counted by their reports. Only fetching agents send reports. */
  readonly applied: number
  readonly change_cpu: number
  /** Rates in any ten seconds after the server's return, divided by the steady rate of polls. */
  readonly back: {
    readonly polls_peak: number
    readonly requests_peak: number
    /**
     * After the first five minutes, when a second wave would arrive. Null for a run that ended
     * earlier.
     */
    readonly later_polls_peak: number | null
    readonly later_polls_least: number | null
    readonly server_cpu_peak: number
  }
  /** Requests answered 503, and requests without a response while the server was up. */
  readonly turned_away: number
  readonly failed: number
  readonly agents_rss: number
  readonly buckets: readonly Bucket[]
}

/** Computes the figures that the goals are about. */
export function summarize(run: FleetRun): FleetSummary {
  const { marks, adoptedMs, samples, extent } = run
  const buckets = bucketsOf(run)
  const between = (fromMs: number, toMs: number): readonly Bucket[] =>
    buckets.filter(({ at_s }) => at_s * 1000 >= fromMs && (at_s + BUCKET_SECONDS) * 1000 <= toMs)
  // In a full run the agents start evenly over one period, so the ramp has the steady load as well.
  const isEven = extent.rampMs >= PERIOD_MS
  const steadyFromMs = isEven ? marks.firstMs : marks.changedMs - extent.steadyMs
  const steady = between(steadyFromMs, marks.changedMs)
  const rate = mean(steady.map(({ polls }) => polls))
  const cpu = mean(cpuOf(steady))
  const back = between(marks.upMs, marks.endMs)
  const later = between(marks.upMs + FIRST_WAVE_SECONDS * 1000, marks.endMs)
  const laterPolls = later.map(({ polls }) => polls)
  const upAt = (atMs: number): boolean => atMs < marks.downMs || atMs >= marks.upMs
  const whileUp = run.seconds.filter((_, index) => upAt(index * 1000))
  const rssOf = samples
    .filter(({ atMs }) => atMs < marks.changedMs)
    .map(({ serverRss }) => serverRss)
  return {
    steady: {
      polls_per_second: rate,
      server_cpu: cpu,
      server_rss: Math.max(...rssOf.map((rss) => rss ?? 0)),
      cpu_us_a_poll: (cpu * 1e6) / rate,
    },
    convergence: {
      p50: reached(adoptedMs, extent, 0.5),
      p99: reached(adoptedMs, extent, 0.99),
      p999: reached(adoptedMs, extent, 0.999),
      all: reached(adoptedMs, extent, 1),
    },
    adopted: adoptedMs.length,
    applied: run.applied,
    change_cpu: mean(cpuOf(between(marks.changedMs, marks.downMs))),
    back: {
      polls_peak: Math.max(...back.map(({ polls }) => polls)) / rate,
      requests_peak: Math.max(...back.map(({ requests }) => requests)) / rate,
      later_polls_peak: later.length === 0 ? null : Math.max(...laterPolls) / rate,
      later_polls_least: later.length === 0 ? null : Math.min(...laterPolls) / rate,
      server_cpu_peak: Math.max(...cpuOf(back)),
    },
    turned_away: count(whileUp, '503'),
    failed: count(whileUp, 'none'),
    agents_rss: Math.max(...samples.map(({ agentsRss }) => agentsRss)),
    buckets,
  }
}

/** Whether the run is long enough for the goals. */
export function isFullRun({ extent }: Pick<FleetRun, 'extent'>): boolean {
  const whole = planFleet(extent.agents, DEFAULT_MINUTES)
  return extent.changeMs >= whole.changeMs && extent.outageMs >= whole.outageMs
}

function bucketsOf({ seconds, samples, marks }: FleetRun): readonly Bucket[] {
  const buckets: Bucket[] = []
  let adopted = 0
  for (let at = 0; at + BUCKET_SECONDS <= seconds.length; at += BUCKET_SECONDS) {
    const part = seconds.slice(at, at + BUCKET_SECONDS)
    adopted += part.reduce((sum, second) => sum + second.adopted, 0)
    const within = samples.filter(
      ({ atMs }) => atMs >= at * 1000 && atMs < (at + BUCKET_SECONDS) * 1000,
    )
    const cpus = within.flatMap(({ server }) => (server === null ? [] : [server]))
    const isAway = at * 1000 >= marks.downMs && (at + BUCKET_SECONDS) * 1000 <= marks.upMs
    buckets.push({
      at_s: at,
      polls: part.reduce((sum, { sent }) => sum + sent.poll, 0) / BUCKET_SECONDS,
      requests:
        part.reduce(
          (sum, { sent }) => sum + REQUEST_KINDS.reduce((all, kind) => all + sent[kind], 0),
          0,
        ) / BUCKET_SECONDS,
      unanswered: count(part, 'none') / BUCKET_SECONDS,
      busy: count(part, '503') / BUCKET_SECONDS,
      adopted,
      server_cpu: isAway || cpus.length === 0 ? null : mean(cpus),
    })
  }
  return buckets
}

function count(seconds: readonly Second[], outcome: string): number {
  return seconds.reduce((sum, { outcomes }) => sum + (outcomes[outcome] ?? 0), 0)
}

function cpuOf(buckets: readonly Bucket[]): number[] {
  return buckets.flatMap(({ server_cpu }) => (server_cpu === null ? [] : [server_cpu]))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The share is of all agents, not of those that adopted the change. */
function reached(adoptedMs: readonly number[], { agents }: Extent, share: number): number | null {
  return adoptedMs[Math.ceil(share * agents) - 1] ?? null
}

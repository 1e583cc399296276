import { rangeOf, type Range } from '../measure/range.ts'
import type { Load } from './load/start-load.ts'
import type { MeasuredProcess } from './measured-process.ts'

/** A kind of request to one of the servers. */
export interface Lane {
  readonly name: string
  readonly server: MeasuredProcess
  readonly set: string
  readonly expected: number
  /** Requests a round. */
  readonly count: number
}

export interface Row {
  readonly name: string
  /** Processor time of the server, microseconds a request. */
  readonly cpu_us: Range
  /** That of the bare reply in the same round, divided by it. */
  readonly ratio: Range
  readonly per_second: Range
  /** The same round by round, to be divided by that of another row. */
  readonly per_second_rounds: readonly number[]
  readonly p99_ms: Range
  readonly requests: number
}

export interface RoundOptions {
  readonly rounds: number
  /**
   * Requests of each lane before those that count, in which code is compiled and memories are
   * filled: the work for one falls by a sixth over the first ten thousand.
   */
  readonly warmUp: number
  /** The longest that a lane may take in a round. */
  readonly timeoutMs: number
  readonly connections: number
}

interface Reading {
  readonly cpuUs: number
  readonly perSecond: number
  readonly p99Ms: number
  readonly requests: number
}

/**
 * A timestamp is signed anew every hour, those of two in a hundred organizations a minute; each of
 * their agents is answered 200 once, and of 100,000 few come twice while it measures.
 */
const LEAST_EXPECTED = 0.95

/**
 * Lanes take turns, so that what else the machine does falls on all; the first is the bare reply.
 */
export async function runRounds(
  load: Load,
  lanes: readonly Lane[],
  options: RoundOptions,
): Promise<Row[]> {
  const readings = lanes.map((): Reading[] => [])
  const warmUps = Math.ceil(options.warmUp / Math.min(...lanes.map(({ count }) => count)))
  for (let round = -warmUps; round < options.rounds; round += 1)
    for (const turn of lanes.keys()) {
      const at = (turn + round + warmUps) % lanes.length
      const lane = lanes[at]
      if (lane === undefined) continue
      const reading = await read(load, lane, options)
      if (round >= 0) readings[at]?.push(reading)
    }
  const bare = readings[0] ?? []
  return lanes.map(({ name }, at) => rowOf(name, readings[at] ?? [], bare))
}

async function read(
  load: Load,
  { name, server, set, expected, count }: Lane,
  { timeoutMs, connections }: RoundOptions,
): Promise<Reading> {
  const before = server.cpuUs()
  const { port } = server
  const report = await load.ask({ kind: 'run', port, set, connections, count, timeoutMs })
  const spentUs = server.cpuUs() - before
  if ((report.statuses[expected] ?? 0) < report.completed * LEAST_EXPECTED)
    throw new Error(`\`${name}\` was answered ${JSON.stringify(report.statuses)}, not ${expected}`)
  return {
    cpuUs: spentUs / report.completed,
    perSecond: (report.completed / report.elapsedMs) * 1000,
    p99Ms: report.p99Ms,
    requests: report.completed,
  }
}

function rowOf(name: string, readings: readonly Reading[], bare: readonly Reading[]): Row {
  const ratios = readings.map(({ cpuUs }, round) => (bare[round]?.cpuUs ?? Number.NaN) / cpuUs)
  return {
    name,
    cpu_us: rangeOf(readings.map(({ cpuUs }) => cpuUs)),
    ratio: rangeOf(ratios),
    per_second: rangeOf(readings.map(({ perSecond }) => perSecond)),
    per_second_rounds: readings.map(({ perSecond }) => perSecond),
    p99_ms: rangeOf(readings.map(({ p99Ms }) => p99Ms)),
    requests: readings.reduce((sum, { requests }) => sum + requests, 0),
  }
}

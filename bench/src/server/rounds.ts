import { rangeOf, type Range } from '../measure/range.ts'
import type { Load } from './load/start-load.ts'
import type { MeasuredProcess } from './measured-process.ts'

/** One kind of request to one server. */
export interface Lane {
  readonly name: string
  readonly server: MeasuredProcess
  readonly set: string
  readonly expected: number
  /** Requests per round. */
  readonly count: number
}

export interface Row {
  readonly name: string
  /** Processor time of the server, in microseconds per request. */
  readonly cpu_us: Range
  /** The bare reply's processor time divided by this one's, within each round. */
  readonly ratio: Range
  readonly per_second: Range
  /** Requests per second of each round, to divide by those of another row. */
  readonly per_second_rounds: readonly number[]
  readonly p99_ms: Range
  readonly requests: number
}

export interface RoundOptions {
  readonly rounds: number
  /**
   * Requests of each lane that are not counted, until the code is compiled and the caches are
   * filled.
   */
  readonly warmUp: number
  /** Time limit of a lane per round. */
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
 * The least share of expected answers. The server signs each timestamp again every hour, and each
 * agent of that organization is then answered 200 once.
 */
const LEAST_EXPECTED = 0.95

/**
 * Runs the lanes in turns, so that other load on the machine affects all of them. The first lane is
 * the bare reply.
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

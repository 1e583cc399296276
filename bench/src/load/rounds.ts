import { divide, rangeOf } from '../figures/range.ts'
import type { Row, Rows } from '../figures/table.ts'
import type { RunningServer } from '../server/start-server.ts'
import type { Load } from './load.ts'

/** One kind of request to one server. */
export interface Lane {
  readonly name: string
  readonly server: RunningServer
  readonly set: string
  readonly expected: number
  /** Requests per round. */
  readonly count: number
  /** Requests that are not counted, until the code is compiled and the caches are filled. */
  readonly warmUp: number
  /** In parallel; 64 by default. */
  readonly connections?: number
  /** Another lane, whose requests a second those of this one are divided by. */
  readonly rival?: { readonly name: string; readonly column: string }
}

interface Reading {
  readonly cpuUs: number
  readonly perSecond: number
  readonly p99Ms: number
}

const TIMEOUT_MS = 20_000
/**
 * The least share of expected answers. The server signs each timestamp again every hour, and each
 * agent of that organization is then answered 200 once.
 */
const LEAST_EXPECTED = 0.95

/**
 * Runs the lanes in turns, so that other load on the machine affects all of them. The first lane is
 * the bare reply, by which the processor time of the others is divided.
 */
export async function runRounds(load: Load, lanes: readonly Lane[], rounds: number): Promise<Rows> {
  const readings = lanes.map((): Reading[] => [])
  for (const lane of lanes)
    for (let sent = 0; sent < lane.warmUp; sent += lane.count) await read(load, lane)
  for (let round = 0; round < rounds; round += 1)
    for (const turn of lanes.keys()) {
      const at = (turn + round) % lanes.length
      const lane = lanes[at]
      if (lane !== undefined) readings[at]?.push(await read(load, lane))
    }
  const bare = readings[0] ?? []
  const rows = lanes.map(({ name, rival }, at): [string, Row] => {
    const row = rowOf(readings[at] ?? [], bare)
    if (rival === undefined) return [name, row]
    const others = readings[lanes.findIndex((lane) => lane.name === rival.name)] ?? []
    const ratios = divide(rates(readings[at] ?? []), rates(others))
    return [name, { ...row, [rival.column]: rangeOf(ratios) }]
  })
  return Object.fromEntries(rows)
}

function rates(readings: readonly Reading[]): number[] {
  return readings.map(({ perSecond }) => perSecond)
}

async function read(
  load: Load,
  { name, server, set, expected, count, connections = 64 }: Lane,
): Promise<Reading> {
  const before = server.cpuUs()
  const { port } = server
  const run = { port, set, connections, count, forMs: TIMEOUT_MS }
  const { completed, elapsedMs, statuses, p99Ms } = await load.run(run)
  const spentUs = server.cpuUs() - before
  if ((statuses[expected] ?? 0) < completed * LEAST_EXPECTED)
    throw new Error(`\`${name}\` was answered ${JSON.stringify(statuses)}, not ${expected}`)
  return { cpuUs: spentUs / completed, perSecond: (completed / elapsedMs) * 1000, p99Ms }
}

function rowOf(readings: readonly Reading[], bare: readonly Reading[]): Row {
  const cpuUs = readings.map((reading) => reading.cpuUs)
  const ofBare = bare.map((reading) => reading.cpuUs)
  return {
    'CPU us': rangeOf(cpuUs),
    'x bare': rangeOf(divide(ofBare, cpuUs)),
    'a second': rangeOf(rates(readings)),
    'p99 ms': rangeOf(readings.map(({ p99Ms }) => p99Ms)),
  }
}

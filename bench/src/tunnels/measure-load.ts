import { join } from 'node:path'
import { divide, rangeOf } from '../figures/range.ts'
import type { Row, Rows } from '../figures/table.ts'
import { takeTurns, type Readings } from '../figures/take-turns.ts'
import { runNode } from '../process/run-command.ts'
import { BASELINE, type Proxy } from './peers.ts'

export const LOAD = join(import.meta.dirname, 'load.ts')
/** Connections at once. */
export const PARALLEL = 16
const MIB = 2 ** 20

interface Contest {
  readonly proxies: readonly Proxy[]
  /** HOST:PORT of the server behind them. */
  readonly target: string
  readonly rounds: number
}

/** One load on one proxy. */
interface Reading {
  /** Processor time of the proxy. */
  readonly cpuUs: number
  readonly tookMs: number
}

/**
 * Sends the same load through each proxy, at a fixed rate and as fast as possible. A saturated
 * proxy works in larger batches, so the rate decides.
 */
export async function measureLoad(
  contest: Contest,
  { kind, count, perSecond }: { kind: string; count: number; perSecond: number },
): Promise<Rows> {
  const paced = await contend(contest, kind, count, perSecond)
  const saturated = await contend(contest, kind, count, 0)
  return describe(contest, (name) => ({
    [`CPU us at ${perSecond}/s`]: rangeOf(cpuOf(paced, name).map((us) => us / count)),
    'x baseline': toBaseline(paced, name),
    'saturated, CPU us': rangeOf(cpuOf(saturated, name).map((us) => us / count)),
    'saturated, x baseline': toBaseline(saturated, name),
    'a second': rangeOf((saturated[name] ?? []).map(({ tookMs }) => (count / tookMs) * 1000)),
  }))
}

/** Sends bytes through one tunnel of each proxy. */
export async function measureBulk(contest: Contest, bytes: number): Promise<Rows> {
  const readings = await contend(contest, 'bulk', bytes, 0)
  const mib = bytes / MIB
  return describe(contest, (name) => ({
    'CPU us a MiB': rangeOf(cpuOf(readings, name).map((us) => us / mib)),
    'x baseline': toBaseline(readings, name),
    'MiB/s': rangeOf((readings[name] ?? []).map(({ tookMs }) => (mib / tookMs) * 1000)),
  }))
}

function contend(
  { proxies, target, rounds }: Contest,
  kind: string,
  count: number,
  perSecond: number,
): Promise<Readings<string, Reading>> {
  const read =
    ({ port, cpuUs }: Proxy) =>
    async (): Promise<Reading> => {
      const before = cpuUs()
      const { output } = await runNode([LOAD, kind, port, target, count, PARALLEL, perSecond])
      return { cpuUs: cpuUs() - before, tookMs: Number(output) }
    }
  return takeTurns(rounds, Object.fromEntries(proxies.map((proxy) => [proxy.name, read(proxy)])))
}

function describe({ proxies }: Contest, rowOf: (name: string) => Row): Rows {
  return Object.fromEntries(proxies.map(({ name }) => [name, rowOf(name)]))
}

function cpuOf(readings: Readings<string, Reading>, name: string): number[] {
  return (readings[name] ?? []).map(({ cpuUs }) => cpuUs)
}

function toBaseline(readings: Readings<string, Reading>, name: string) {
  return rangeOf(divide(cpuOf(readings, name), cpuOf(readings, BASELINE)))
}

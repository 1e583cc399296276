import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { cpuUsOf, rssOf } from '../../measure/process-counters.ts'
import { rangeOf, type Range } from '../../measure/range.ts'
import { freePort } from '../../server/free-port.ts'
import { startAgent, type MeasuredAgent } from '../agent-process.ts'
import { startDecisionClock } from '../decision-clock.ts'
import { ALLOWED, copyMachine, type Machine } from '../machine.ts'
import { startPeers, startScript, type Contender } from '../tunnels/contenders.ts'
import { addLoopbackRule, type LoopbackRule } from '../tunnels/loopback-rule.ts'

export interface TunnelsOptions {
  readonly rounds: number
  /** Connections and requests of one round. */
  readonly connections: number
  readonly requests: number
  readonly bulkBytes: number
  /** Tunnels held at once, in so many processes. */
  readonly held: number
  readonly holders: number
}

export interface ProxyFigures {
  readonly name: string
  /** Microseconds of the proxy's processor time for a tunnel with one exchange. */
  readonly new_cpu_us: Range
  readonly new_per_s: Range
  /** The same for an exchange in a kept tunnel. */
  readonly kept_cpu_us: Range
  readonly kept_per_s: Range
  readonly bulk_mib_per_s: Range
}

export interface TunnelsResult {
  readonly proxies: readonly ProxyFigures[]
  readonly held: number
  /** Resident bytes for each tunnel. */
  readonly held_bytes: number
  /** From the request for the new policy until the last tunnel is closed. */
  readonly closed_ms: number
  /** Longest decision of the local API meanwhile, in milliseconds. */
  readonly longest_decision_ms: number
}

const PARALLEL = 16
const LOAD = join(import.meta.dirname, '../tunnels/load.ts')

/** Measures tunnels through the agent and its peers, in alternation. */
export async function measureTunnels(
  machine: Machine,
  folder: string,
  options: TunnelsOptions,
): Promise<TunnelsResult> {
  const target = await startScript('target', 'target.ts')
  const stops: (() => Promise<void>)[] = [target.stop]
  try {
    const rule = await addLoopbackRule(machine)
    const port = await freePort()
    const dataDir = copyMachine(machine.dataDir, join(folder, 'tunnels'))
    const agent = await startAgent(dataDir, ALLOWED, { PALISADE_PROXY_PORT: String(port) })
    stops.push(agent.stop)
    await agent.sync()
    const ours = { name: 'palisade', port, pid: agent.pid, stop: agent.stop }
    const peers = await startPeers(folder, target.port)
    stops.push(...peers.map(({ stop }) => stop))
    const proxies = await measureProxies([ours, ...peers], target.port, options)
    return { proxies, ...(await measureHeld(agent, port, target.port, rule, options)) }
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

async function measureProxies(
  contenders: readonly Contender[],
  targetPort: number,
  { rounds, connections, requests, bulkBytes }: TunnelsOptions,
): Promise<ProxyFigures[]> {
  const readings = contenders.map((contender) => ({ contender, rows: [] as Row[] }))
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1)
    for (const { contender, rows } of readings) {
      const ask = (kind: string, count: number): Promise<Load> =>
        runLoad(contender, kind, targetPort, count)
      const row = {
        opened: await ask('new', connections),
        kept: await ask('kept', requests),
        bulk: await ask('bulk', bulkBytes),
      }
      if (round > 0) rows.push(row)
    }
  return readings.map(({ contender, rows }) => ({
    name: contender.name,
    new_cpu_us: rangeOf(rows.map(({ opened }) => opened.cpuUs / connections)),
    new_per_s: rangeOf(rows.map(({ opened }) => (connections / opened.tookMs) * 1000)),
    kept_cpu_us: rangeOf(rows.map(({ kept }) => kept.cpuUs / requests)),
    kept_per_s: rangeOf(rows.map(({ kept }) => (requests / kept.tookMs) * 1000)),
    bulk_mib_per_s: rangeOf(rows.map(({ bulk }) => (bulkBytes / 2 ** 20 / bulk.tookMs) * 1000)),
  }))
}

interface Load {
  readonly tookMs: number
  /** Of the proxy. */
  readonly cpuUs: number
}

interface Row {
  readonly opened: Load
  readonly kept: Load
  readonly bulk: Load
}

async function runLoad(
  { name, port, pid }: Contender,
  kind: string,
  targetPort: number,
  count: number,
): Promise<Load> {
  const before = cpuUsOf(pid)
  const args = [LOAD, kind, port, `127.0.0.1:${targetPort}`, count, PARALLEL].map(String)
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [tookText] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (child.exitCode !== 0) throw new Error(`${name}: the load \`${kind}\` failed`)
  return { tookMs: Number(tookText), cpuUs: cpuUsOf(pid) - before }
}

/** Holds idle tunnels, then takes away the rule that allows them. */
async function measureHeld(
  agent: MeasuredAgent,
  port: number,
  targetPort: number,
  rule: LoopbackRule,
  { held, holders }: TunnelsOptions,
): Promise<Omit<TunnelsResult, 'proxies'>> {
  const before = rssOf(agent.pid).now
  const children = Array.from({ length: holders }, () => {
    const count = Math.ceil(held / holders)
    const args = [LOAD, 'hold', port, `127.0.0.1:${targetPort}`, count, PARALLEL].map(String)
    // A session of its own: the agent shares its places out between sessions and processes.
    return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  })
  await Promise.all(children.map(awaitHeld))
  const outputs = children.map(({ stdout }) => text(stdout))
  const bytes = (rssOf(agent.pid).now - before) / held
  const clock = await startDecisionClock(agent.socketPath, ALLOWED)
  await rule.remove()
  await clock.take()
  const askedAtMs = Date.now()
  await agent.sync()
  await setTimeout(3_000)
  const longest = Math.max(...(await clock.take()))
  await clock.stop()
  for (const { stdin } of children) stdin.end()
  const ends = (await Promise.all(outputs)).map(readEnd)
  const closed = ends.reduce((sum, end) => sum + end.closed, 0)
  if (closed < held) throw new Error(`only ${closed} of ${held} tunnels were closed`)
  return {
    held,
    held_bytes: bytes,
    closed_ms: Math.max(...ends.map(({ last_closed_at }) => last_closed_at)) - askedAtMs,
    longest_decision_ms: longest,
  }
}

/** Resolves when a process holds its tunnels; rejects when it got fewer. */
async function awaitHeld(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('a process did not get all its tunnels')
  })
  await Promise.race([child.stdout === null ? ended : once(child.stdout, 'data'), ended])
  ended.catch(() => {})
}

function readEnd(output: string): { readonly closed: number; readonly last_closed_at: number } {
  return JSON.parse(output.trim().split('\n').at(-1) ?? '{}') as ReturnType<typeof readEnd>
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startAgent } from '../agent-process.ts'
import { ALLOWED, copyMachine, loseServer, type Machine } from '../machine.ts'

export interface StartResult {
  /** Runs node with an empty script to its exit. */
  readonly node_ms: Range
  /** From process start until the cached policy allows a request, without a server. */
  readonly away_ms: Range
  /** `away_ms` divided by `node_ms` of the same round. */
  readonly away_ratio: Range
  /** Processor time of the same start. A busy machine affects it less than elapsed time. */
  readonly away_cpu_ms: Range
  /** As `away_ms`, with a server that the agent contacts at once. */
  readonly there_ms: Range
  readonly rounds: number
}

/** Starts node and the agent alternately, so that other load on the machine affects all of them. */
export async function measureStart(
  { dataDir }: Machine,
  folder: string,
  count: number,
): Promise<StartResult> {
  const empty = join(folder, 'empty.mjs')
  writeFileSync(empty, '')
  const there = copyMachine(dataDir, join(folder, 'there'))
  const away = copyMachine(dataDir, join(folder, 'away'))
  loseServer(away)
  const rounds: Round[] = []
  // Round 0 is discarded: the first start of each program reads its files from disk.
  for (let round = 0; round <= count; round += 1) {
    const node = await startNode(empty)
    rounds.push({ node, away: await startOnce(away), there: await startOnce(there) })
  }
  const counted = rounds.slice(1)
  return {
    node_ms: rangeOf(counted.map(({ node }) => node)),
    away_ms: rangeOf(counted.map((round) => round.away.ms)),
    away_ratio: rangeOf(counted.map((round) => round.away.ms / round.node)),
    away_cpu_ms: rangeOf(counted.map((round) => round.away.cpuMs)),
    there_ms: rangeOf(counted.map((round) => round.there.ms)),
    rounds: count,
  }
}

interface Round {
  readonly node: number
  readonly away: Started
  readonly there: Started
}

/** Elapsed and processor time, in milliseconds. */
interface Started {
  readonly ms: number
  readonly cpuMs: number
}

async function startNode(script: string): Promise<number> {
  const started = performance.now()
  await once(spawn(process.execPath, [script], { stdio: 'ignore' }), 'exit')
  return performance.now() - started
}

async function startOnce(dataDir: string): Promise<Started> {
  const agent = await startAgent(dataDir, ALLOWED)
  await agent.stop()
  return { ms: agent.startMs, cpuMs: agent.startCpuUs / 1000 }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startAgent } from '../agent-process.ts'
import { ALLOWED, copyMachine, loseServer, type Machine } from '../machine.ts'

export interface StartResult {
  /** Of node with an empty script, until it has ended. */
  readonly node_ms: Range
  /** Until the kept policy has allowed something, while there is no server. */
  readonly away_ms: Range
  /** The same divided by that of node in the same round. */
  readonly away_ratio: Range
  /** Its processor time until then, which a busy machine stretches less. */
  readonly away_cpu_ms: Range
  /** The same while the server is there and is asked at once. */
  readonly there_ms: Range
  readonly rounds: number
}

/** Starts of node and of the agent in turns: what else the machine does falls on all. */
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
  // One that does not count: the first of each reads its files from the disk.
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

/** Milliseconds, of the clock and of the processor. */
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

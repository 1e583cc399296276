import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startAgent, type MeasuredAgent } from '../agent-process.ts'
import { ALLOWED, copyMachine, type Machine } from '../machine.ts'

export interface RestOptions {
  readonly agents: number
  /** From the start to the first memory reading. */
  readonly settleMs: number
  /** How long processor time is counted while the agent receives no requests. */
  readonly idleMs: number
  readonly polls: number
}

export interface RestResult {
  /** Resident bytes. */
  readonly idle_rss: Range
  readonly polled_rss: Range
  /** Processor time divided by elapsed time. */
  readonly idle_share: Range
  /** Milliseconds of processor time for one fetch that finds no update. */
  readonly poll_cpu_ms: Range
  /** `idle_share` plus one poll every five minutes. */
  readonly share: Range
  readonly polls: number
}

const POLL_PERIOD_MS = 5 * 60_000

/** Measures idle agents, which all run at the same time from copies of one state. */
export async function measureRest(
  { dataDir }: Machine,
  folder: string,
  options: RestOptions,
): Promise<RestResult> {
  const agents: MeasuredAgent[] = []
  try {
    for (let n = 0; n < options.agents; n += 1)
      agents.push(await startAgent(copyMachine(dataDir, join(folder, `rest-${n}`)), ALLOWED))
    await setTimeout(options.settleMs)
    const idleRss = agents.map((agent) => agent.rss())
    const before = agents.map((agent) => agent.cpuUs())
    const startedMs = performance.now()
    await setTimeout(options.idleMs)
    const elapsedUs = (performance.now() - startedMs) * 1000
    const idle = agents.map((agent, n) => (agent.cpuUs() - (before[n] ?? 0)) / elapsedUs)
    const pollMs: number[] = []
    for (const agent of agents) pollMs.push(await measurePolls(agent, options.polls))
    return {
      idle_rss: rangeOf(idleRss),
      polled_rss: rangeOf(agents.map((agent) => agent.rss())),
      idle_share: rangeOf(idle),
      poll_cpu_ms: rangeOf(pollMs),
      share: rangeOf(idle.map((share, n) => share + (pollMs[n] ?? Number.NaN) / POLL_PERIOD_MS)),
      polls: options.polls,
    }
  } finally {
    for (const agent of agents) await agent.stop()
  }
}

async function measurePolls(agent: MeasuredAgent, polls: number): Promise<number> {
  const before = agent.cpuUs()
  for (let poll = 0; poll < polls; poll += 1) {
    const outcome = await agent.sync()
    if (outcome !== 'unchanged') throw new Error(`a fetch ended with \`${outcome}\``)
  }
  return (agent.cpuUs() - before) / 1000 / polls
}

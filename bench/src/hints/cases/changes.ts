import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../../measure/quantile.ts'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startServer } from '../../server/cases/request-rows.ts'
import { exchange } from '../../server/requests.ts'
import { fillFleet, type Fleet } from '../fill-fleet.ts'
import { startAgentThreads, type AgentThreads } from '../agent-threads.ts'
import { uptimeMs } from '../uptime.ts'

/**
 * Longer than the time by which agents delay their reports and next hint requests, which grows with
 * their number.
 */
const SETTLE_MS = 3_000
const SETTLE_MS_AN_AGENT = 9
/** Agents that one thread starts together. More would wait for each other's first fetch. */
const STARTED_TOGETHER = 25

export interface ChangesResult {
  readonly agents: number
  /** Milliseconds from sending the change to the hint, over all agents and changes. */
  readonly told_p50_ms: number
  readonly told_p99_ms: number
  /** Milliseconds from sending the change to its enforcement. */
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
  /** The p99 of each change separately. */
  readonly p99_of_changes_ms: Range
  /** Processor time of the server per agent and change: hint, poll, files and report. */
  readonly server_cpu_us: Range
  /** Processor time of the agents' process per agent and change. */
  readonly agent_cpu_us: Range
  readonly changes: number
}

interface Change {
  readonly told: readonly number[]
  readonly times: readonly number[]
  readonly serverCpuUs: number
  readonly agentCpuUs: number
}

/**
 * Changes that are not counted. In the first ones all agents run code of one process for the first
 * time, which separate machines do not share.
 */
const WARM_UPS = 2

/** Changes one rule at a time and waits until all agents enforce it through hints alone. */
export async function measureChanges(
  folder: string,
  { agents: count, changes }: { readonly agents: number; readonly changes: number },
): Promise<ChangesResult> {
  const directory = join(folder, `changes-${count}`)
  const fleet = await fillFleet(directory, count)
  // Agents and server share the processors here, so a late server is not an overloaded one.
  const server = await startServer(directory, { PALISADE_OVERLOAD_DELAY_MS: '0' })
  const settleMs = SETTLE_MS + SETTLE_MS_AN_AGENT * count
  const agents = startAgentThreads(fleet, `http://127.0.0.1:${server.port}`)
  try {
    const allow = await createEditor(fleet, server.port)
    await startAll(agents, count, await allow('first'))
    const measured: Change[] = []
    for (let index = -WARM_UPS; index < changes; index += 1) {
      await pause(settleMs)
      const before = [server.cpuUs(), cpuUsOfAgents()] as const
      const enforced = agents.untilAllowed(hostOf(index))
      const startedMs = uptimeMs()
      await allow(String(index))
      const { allowedAtMs } = await enforced
      await pause(settleMs)
      const { toldAtMs, silent } = await agents.untilAllowed(hostOf(index))
      if (silent > 0) throw new Error(`${silent} agents receive no hints`)
      if (index < 0) continue
      measured.push({
        told: toldAtMs.map((atMs) => atMs - startedMs),
        times: allowedAtMs.map((atMs) => atMs - startedMs),
        serverCpuUs: (server.cpuUs() - before[0]) / count,
        agentCpuUs: (cpuUsOfAgents() - before[1]) / count,
      })
    }
    return describe(count, measured)
  } finally {
    await agents.stop()
    await server.stop()
  }
}

function describe(agents: number, changes: readonly Change[]): ChangesResult {
  const all = changes.flatMap(({ times }) => times)
  const told = changes.flatMap((change) => change.told)
  return {
    agents,
    told_p50_ms: quantile(told, 0.5),
    told_p99_ms: quantile(told, 0.99),
    p50_ms: quantile(all, 0.5),
    p99_ms: quantile(all, 0.99),
    max_ms: Math.max(...all),
    p99_of_changes_ms: rangeOf(changes.map(({ times }) => quantile(times, 0.99))),
    server_cpu_us: rangeOf(changes.map(({ serverCpuUs }) => serverCpuUs)),
    agent_cpu_us: rangeOf(changes.map(({ agentCpuUs }) => agentCpuUs)),
    changes: changes.length,
  }
}

/** Creates a function that adds a rule allowing a new host and returns the host. */
async function createEditor(
  { org, editors, policyIds }: Fleet,
  port: number,
): Promise<(name: string) => Promise<string>> {
  const [editor] = editors
  if (editor === undefined) throw new Error('the fleet has no editor')
  const token = await exchange(port, editor.username, editor.token)
  const url = `http://127.0.0.1:${port}/v2/orgs/${org}/governance/policies/${policyIds[0]}/rules`
  return async (name) => {
    const host = hostOf(name)
    const rule = { name, actions: ['connect:tcp'], decision: 'allow', resources: [`${host}:443`] }
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(rule),
    })
    if (response.status !== 201)
      throw new Error(`no rule: ${response.status} ${await response.text()}`)
    return host
  }
}

async function startAll(agents: AgentThreads, count: number, host: string): Promise<void> {
  for (let first = 0; first < count; first += STARTED_TOGETHER) {
    await agents.start(STARTED_TOGETHER)
    await agents.untilAllowed(host)
  }
}

function cpuUsOfAgents(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

function hostOf(name: string | number): string {
  return `change-${name}.example.com`
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withVerdicts } from '../goals/goal.ts'
import { describeMachine } from '../report/describe-machine.ts'
import { formatNumber } from '../report/format-number.ts'
import { formatRange, formatRangedGoals } from '../report/ranged-goals-table.ts'
import { roundNumber } from '../report/write-results.ts'
import { measureClient } from './cases/client.ts'
import { measureLocalApi, type LocalApiOptions } from './cases/local-api.ts'
import { measureRest, type RestOptions } from './cases/rest.ts'
import { measureStart } from './cases/start.ts'
import { measureTunnels, type TunnelsOptions } from './cases/tunnels.ts'
import { measureUpdates, type Latencies, type UpdatesOptions } from './cases/updates.ts'
import { judgeAgent, type AgentFigures } from './goals.ts'
import { prepareMachine, SHAPE } from './machine.ts'
import { formatTunnels } from './tunnels/format-tunnels.ts'
import { plotTunnels } from './tunnels/plot-tunnels.ts'

export const AGENT_GROUPS = ['start', 'rest', 'updates', 'tunnels', 'local-api', 'client'] as const
export type AgentGroup = (typeof AGENT_GROUPS)[number]

interface Extent {
  readonly rounds: number
  readonly rest: RestOptions
  readonly updates: UpdatesOptions
  readonly tunnels: TunnelsOptions
  readonly localApi: LocalApiOptions
}

const FULL: Extent = {
  rounds: 15,
  rest: { agents: 3, settleMs: 60_000, idleMs: 60_000, polls: 20 },
  updates: { rounds: 5, warmMs: 2_000, restMs: 5_000, chunkedMs: 5_000 },
  tunnels: {
    rounds: 3,
    connections: 2_000,
    requests: 20_000,
    bulkBytes: 99_999_999,
    held: 8_000,
    holders: 16,
  },
  localApi: { rounds: 7, requests: 10_000, batches: 200 },
}

/**
 * Checks that every case works. Garbage of the start still counts as memory after so short a time.
 */
const QUICK: Extent = {
  rounds: 3,
  rest: { agents: 1, settleMs: 3_000, idleMs: 5_000, polls: 5 },
  updates: { rounds: 1, warmMs: 500, restMs: 1_000, chunkedMs: 1_000 },
  tunnels: {
    rounds: 1,
    connections: 500,
    requests: 5_000,
    bulkBytes: 10_000_000,
    held: 1_000,
    holders: 4,
  },
  localApi: { rounds: 1, requests: 1_000, batches: 20 },
}

/** Measures the agent process beside a bare node process and returns the exit status. */
export async function runAgentBench(
  { quick, only }: { readonly quick: boolean; readonly only: AgentGroup | null },
  results: string,
  tell: (line: string) => void,
): Promise<number> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const extent = quick ? QUICK : FULL
  const folder = mkdtempSync(join(tmpdir(), 'palisade-bench-'))
  const wants = (group: AgentGroup): boolean => only === null || only === group
  try {
    tell('a server and an enrolled machine')
    const enrolled = await prepareMachine(folder)
    let figures: AgentFigures
    try {
      tell('start')
      const start = wants('start') ? await measureStart(enrolled, folder, extent.rounds) : null
      tell('rest')
      const rest = wants('rest') ? await measureRest(enrolled, folder, extent.rest) : null
      tell('updates')
      const updates = wants('updates')
        ? await measureUpdates(enrolled, folder, extent.updates)
        : null
      tell('tunnels')
      const tunnels = wants('tunnels')
        ? await measureTunnels(enrolled, folder, extent.tunnels)
        : null
      tell('local API')
      const localApi = wants('local-api')
        ? await measureLocalApi(enrolled, folder, extent.localApi)
        : null
      tell('client')
      const client = wants('client') ? await measureClient(enrolled, folder, extent.rounds) : null
      figures = { start, rest, updates, tunnels, localApi, client }
    } finally {
      await enrolled.server.stop()
    }
    const goals = judgeAgent(figures)
    const shown = only === null ? goals : goals.filter(({ reached }) => reached !== null)
    process.stdout.write(`${describeParts(figures)}${formatRangedGoals(shown)}`)
    const judged = withVerdicts(goals)
    const run = { mode: 'full', started_at, machine, policy: SHAPE, goals: judged, ...figures }
    // Only a full run may replace the recorded figures.
    if (only === null && !quick) {
      mkdirSync(results, { recursive: true })
      writeFileSync(join(results, 'agent.json'), `${JSON.stringify(run, roundNumber, 2)}\n`)
      if (figures.tunnels !== null)
        writeFileSync(join(results, 'tunnels.svg'), plotTunnels(figures.tunnels, run))
      tell('written: bench/results/agent.json, bench/results/tunnels.svg')
    }
    return 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Formats the figures behind the goals. */
function describeParts(figures: AgentFigures): string {
  const { start, rest, updates, tunnels, localApi, client } = figures
  const lines: string[] = []
  if (start !== null)
    lines.push(
      `node with an empty script: ${formatNumber(start.node_ms.median)} ms ` +
        `(${formatRange(start.node_ms)}); the agent's start takes ` +
        `${formatNumber(start.away_ratio.median)} times as long ` +
        `(${formatRange(start.away_ratio)}), ` +
        `${formatNumber(start.away_cpu_ms.median)} ms of it processor time`,
    )
  if (rest !== null)
    lines.push(
      `at rest ${formatNumber(rest.idle_share.median * 100)} % of a core; ` +
        `a poll ${formatNumber(rest.poll_cpu_ms.median)} ms of processor time`,
    )
  if (updates !== null)
    lines.push(
      `decisions at rest: ${describe(updates.rest)}`,
      `while an update arrives in chunks of a byte: ${describe(updates.chunked)}`,
      `while an update of ${updates.rules} rules is applied: ${describe(updates.large)}; ` +
        `it takes ${formatNumber(updates.took_ms.median)} ms (${formatRange(updates.took_ms)})`,
    )
  if (tunnels !== null) lines.push(formatTunnels(tunnels))
  if (localApi !== null) {
    const [single, bare, batched] = [
      localApi.single_per_s,
      localApi.bare_per_s,
      localApi.batched_per_s,
    ].map(({ median }) => formatNumber(median))
    lines.push(
      `local API: ${single} decisions a second, a bare server ${bare} answers; ` +
        `in batches ${batched}`,
    )
  }
  if (client !== null)
    lines.push(
      `palisade to its exit, \`node -e 0\` takes ${formatNumber(client.node_ms.median)} ms ` +
        `(${formatRange(client.node_ms)})`,
    )
  return lines.map((line) => `${line}\n`).join('')
}

function describe({ p50, p99, max, decisions }: Latencies): string {
  const figures = [p50, p99, max].map(
    (range) => `${formatNumber(range.median)} ms (${formatRange(range)})`,
  )
  return `p50 ${figures[0]}, p99 ${figures[1]}, longest ${figures[2]} of ${decisions} decisions`
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withVerdicts } from '../goals/goal.ts'
import { describeMachine } from '../report/describe-machine.ts'
import { formatRangedGoals } from '../report/ranged-goals-table.ts'
import { roundNumber } from '../report/write-results.ts'
import { measureAgents, type AgentsResult } from './cases/agents.ts'
import { measureEvidence } from './cases/evidence.ts'
import { measureLarge } from './cases/large-store.ts'
import { measureProofs } from './cases/proofs.ts'
import { measurePublish } from './cases/publish.ts'
import { measureRequests, type RequestOptions } from './cases/request-rows.ts'
import { measureStart } from './cases/start.ts'
import type { IngestShape } from './evidence/ingest-row.ts'
import { judgeServer } from './goals.ts'
import { measureHostile, type HostileOptions } from './hostile/measure-hostile.ts'
import { startLoad, type Load } from './load/start-load.ts'
import { plotPolls } from './report/plot-polls.ts'
import type { ServerResults } from './report/results.ts'
import { formatAgents, formatHostile, formatIngest, formatRows } from './report/tables.ts'

export const SERVER_GROUPS = [
  'requests',
  'start',
  'large',
  'agents',
  'publish',
  'proofs',
  'evidence',
  'hostile',
] as const
export type ServerGroup = (typeof SERVER_GROUPS)[number]

interface Extent {
  readonly requests: RequestOptions
  readonly startRuns: number
  /** Organizations of the large store; 0 skips it. */
  readonly organizations: number
  readonly agents: readonly number[]
  readonly evidence: readonly IngestShape[]
  readonly hostile: HostileOptions
}

const FULL: Extent = {
  requests: {
    rounds: 21,
    warmUp: 15_000,
    reads: 5_000,
    writes: 1_000,
    timeoutMs: 20_000,
    connections: 64,
  },
  startRuns: 7,
  organizations: 1000,
  agents: [1000, 10_000, 100_000],
  evidence: [
    { devices: 40, tuples: 13_000 },
    { devices: 40, tuples: 200_000 },
  ],
  hostile: { forMs: 10_000, hugePolicies: 85, machines: 100_000 },
}

/** Checks that every case works. Too short for the optimizing compiler to settle. */
const QUICK: Extent = {
  requests: {
    rounds: 5,
    warmUp: 2_000,
    reads: 2_000,
    writes: 250,
    timeoutMs: 3_000,
    connections: 64,
  },
  startRuns: 3,
  organizations: 0,
  agents: [1000],
  evidence: [{ devices: 4, tuples: 13_000 }],
  hostile: { forMs: 3000, hugePolicies: 20, machines: 10_000 },
}

/** Measures the server beside a bare one and returns the exit status. */
export async function runServerBench(
  { quick, only }: { readonly quick: boolean; readonly only: ServerGroup | null },
  results: string,
  tell: (line: string) => void,
): Promise<number> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const extent = quick ? QUICK : FULL
  const folder = mkdtempSync(join(tmpdir(), 'palisade-bench-'))
  const load = startLoad()
  const wants = (group: ServerGroup): boolean => only === null || only === group
  try {
    tell('start')
    const start = wants('start') ? await measureStart(folder, extent.startRuns) : null
    // Start and publication come first, because some machines slow down under minutes of load.
    tell('publish')
    const publish = wants('publish') ? await measurePublish(folder, extent.startRuns) : null
    tell('proofs')
    const proofs = wants('proofs') ? await measureProofs() : null
    tell('evidence')
    const evidence = wants('evidence') ? await measureEvidence(extent.evidence) : []
    tell('requests')
    const rows = wants('requests') ? await measureRequests(load, folder, extent.requests) : []
    tell('agents')
    const agents = wants('agents') ? await measureFleets(load, folder, extent) : []
    tell('large store')
    const { organizations } = extent
    const large =
      wants('large') && organizations > 0 ? await measureLarge(load, folder, organizations) : null
    tell('hostile')
    const hostile = wants('hostile') ? await measureHostile(folder, extent.hostile, tell) : null
    const goals = judgeServer({ rows, start, large, publish, proofs, evidence, hostile })
    process.stdout.write(
      [
        rows.length > 0 ? formatRows(rows) : '',
        agents.length > 0 ? formatAgents(agents) : '',
        evidence.length > 0 ? formatIngest(evidence) : '',
        hostile === null ? '' : formatHostile(hostile.rows),
        formatRangedGoals(only === null ? goals : goals.filter(({ reached }) => reached !== null)),
      ].join(''),
    )
    const judged = withVerdicts(goals)
    const mode = quick ? 'quick' : 'full'
    const run = {
      mode,
      started_at,
      machine,
      goals: judged,
      rows,
      start,
      large,
      publish,
      proofs,
      evidence,
      agents,
      hostile,
    } as const
    // Only a full run may replace the recorded figures.
    if (only === null && !quick) write(results, run, tell)
    return 0
  } finally {
    load.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureFleets(
  load: Load,
  folder: string,
  { agents, requests }: Extent,
): Promise<AgentsResult[]> {
  const results: AgentsResult[] = []
  for (const count of agents) results.push(await measureAgents(load, folder, count, requests))
  return results
}

function write(folder: string, run: ServerResults, tell: (line: string) => void): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'server.json'), `${JSON.stringify(run, roundNumber, 2)}\n`)
  writeFileSync(join(folder, 'polls.svg'), plotPolls(run))
  tell('written: bench/results/server.json, bench/results/polls.svg')
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withVerdicts } from '../goals/goal.ts'
import type { RangedGoal } from '../goals/ranged-goal.ts'
import { describeMachine } from '../report/describe-machine.ts'
import { formatNumber } from '../report/format-number.ts'
import { formatRange, formatRangedGoals } from '../report/ranged-goals-table.ts'
import { roundNumber } from '../report/write-results.ts'
import { measureChanges, type ChangesResult } from './cases/changes.ts'
import { measureWaiting, type WaitingResult } from './cases/waiting.ts'

export const HINTS_GROUPS = ['changes', 'waiting'] as const
export type HintsGroup = (typeof HINTS_GROUPS)[number]

const KIB = 1024
const FULL = { fleets: [1, 100, 1000], changes: 10, waiting: [1000, 10_000] } as const
/** Checks that every case works. */
const QUICK = { fleets: [1, 100], changes: 3, waiting: [1000] } as const
/** The number of agents that the goal is about. */
const GOAL_AGENTS = 1000

/** Measures how soon agents with hints enforce a change and returns the exit status. */
export async function runHintsBench(
  { quick, only }: { readonly quick: boolean; readonly only: HintsGroup | null },
  results: string,
  tell: (line: string) => void,
): Promise<number> {
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const extent = quick ? QUICK : FULL
  const folder = mkdtempSync(join(tmpdir(), 'palisade-bench-'))
  const changes: ChangesResult[] = []
  const waiting: WaitingResult[] = []
  try {
    for (const agents of only === 'waiting' ? [] : extent.fleets) {
      tell(`${agents} agents`)
      changes.push(await measureChanges(folder, { agents, changes: extent.changes }))
    }
    for (const count of only === 'changes' ? [] : extent.waiting) {
      tell(`${count} waiting machines`)
      waiting.push(await measureWaiting(folder, count))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const goals = judgeHints(changes)
  process.stdout.write(
    [...changes.map(formatChanges), ...waiting.map(formatWaiting), formatRangedGoals(goals)].join(
      '',
    ),
  )
  // Only a full run may replace the recorded figures.
  if (only !== null || quick) return 0
  const judged = withVerdicts(goals)
  const run = { mode: 'full', started_at, machine, goals: judged, changes, waiting }
  mkdirSync(results, { recursive: true })
  writeFileSync(join(results, 'hints.json'), `${JSON.stringify(run, roundNumber, 2)}\n`)
  tell('written: bench/results/hints.json')
  return 0
}

function judgeHints(changes: readonly ChangesResult[]): RangedGoal[] {
  const result = changes.find(({ agents }) => agents === GOAL_AGENTS)
  return [
    {
      name: 'change to enforced, 1,000 agents, p99',
      unit: 'ms',
      isAtLeast: false,
      must: 3000,
      reached: result?.p99_ms ?? null,
      range: result?.p99_of_changes_ms ?? null,
    },
  ]
}

function formatChanges(result: ChangesResult): string {
  const {
    agents,
    told_p50_ms,
    told_p99_ms,
    p50_ms,
    p99_ms,
    max_ms,
    server_cpu_us,
    agent_cpu_us,
    changes,
  } = result
  return (
    `${agents} agents, ${changes} changes: hint after ${formatNumber(told_p50_ms)} ms (median), ` +
    `${formatNumber(told_p99_ms)} (p99), enforced after ${formatNumber(p50_ms)} ms (median), ` +
    `${formatNumber(p99_ms)} (p99), ${formatNumber(max_ms)} (max); ` +
    `processor time per agent ` +
    `${formatNumber(server_cpu_us.median)} us of the server (${formatRange(server_cpu_us)}), ` +
    `${formatNumber(agent_cpu_us.median)} of the agents (${formatRange(agent_cpu_us)})\n`
  )
}

function formatWaiting({ machines, rss_before, rss, each, share }: WaitingResult): string {
  return (
    `${machines} waiting machines: ${formatNumber(rss / KIB / KIB)} MiB instead of ` +
    `${formatNumber(rss_before / KIB / KIB)}, ${formatNumber(each / KIB)} KiB each; ` +
    `${formatNumber(share * 100)} % of a core\n`
  )
}

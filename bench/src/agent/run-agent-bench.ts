import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withVerdicts } from '../goals/goal.ts'
import { describeMachine } from '../report/describe-machine.ts'
import { formatNumber } from '../report/format-number.ts'
import { formatRange, formatRangedGoals } from '../report/ranged-goals-table.ts'
import { roundNumber } from '../report/write-results.ts'
import { measureRest, type RestOptions } from './cases/rest.ts'
import { measureStart } from './cases/start.ts'
import { judgeAgent, type AgentFigures } from './goals.ts'
import { prepareMachine, SHAPE } from './machine.ts'

export const AGENT_GROUPS = ['start', 'rest'] as const
export type AgentGroup = (typeof AGENT_GROUPS)[number]

interface Extent {
  readonly rounds: number
  readonly rest: RestOptions
}

const FULL: Extent = {
  rounds: 15,
  rest: { agents: 3, settleMs: 60_000, idleMs: 60_000, polls: 20 },
}

/** Shows that everything works; garbage of the start is not gone after so short a time. */
const QUICK: Extent = { rounds: 3, rest: { agents: 1, settleMs: 3_000, idleMs: 5_000, polls: 5 } }

/** Measures the process of the agent beside a bare node; answers the exit status. */
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
      figures = { start, rest }
    } finally {
      await enrolled.server.stop()
    }
    const goals = judgeAgent(figures)
    const shown = only === null ? goals : goals.filter(({ reached }) => reached !== null)
    process.stdout.write(`${describeParts(figures)}${formatRangedGoals(shown)}`)
    const judged = withVerdicts(goals)
    const run = { mode: 'full', started_at, machine, policy: SHAPE, goals: judged, ...figures }
    // A quick run, or a part of one, must not replace the figures of a whole one.
    if (only === null && !quick) {
      mkdirSync(results, { recursive: true })
      const path = join(results, 'agent.json')
      writeFileSync(path, `${JSON.stringify(run, roundNumber, 2)}\n`)
      tell('written: bench/results/agent.json')
    }
    return 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What the goals are made of. */
function describeParts({ start, rest }: AgentFigures): string {
  const lines: string[] = []
  if (start !== null)
    lines.push(
      `node with an empty script: ${formatNumber(start.node_ms.median)} ms ` +
        `(${formatRange(start.node_ms)}); the agent's start takes ` +
        `${formatNumber(start.away_ratio.median)} times as long (${formatRange(start.away_ratio)}), ` +
        `${formatNumber(start.away_cpu_ms.median)} ms of it the processor's`,
    )
  if (rest !== null)
    lines.push(
      `at rest ${formatNumber(rest.idle_share.median * 100)} % of a core; ` +
        `a poll ${formatNumber(rest.poll_cpu_ms.median)} ms of processor time`,
    )
  return lines.map((line) => `${line}\n`).join('')
}

import type { RangedGoal } from '../goals/ranged-goal.ts'
import type { Range } from '../measure/range.ts'
import type { RestResult } from './cases/rest.ts'
import type { StartResult } from './cases/start.ts'
import type { UpdatesResult } from './cases/updates.ts'

export interface AgentFigures {
  readonly start: StartResult | null
  readonly rest: RestResult | null
  readonly updates: UpdatesResult | null
}

const MIB = 1024 * 1024

/** Every goal of the agent's process with what the run reached. */
export function judgeAgent({ start, rest, updates }: AgentFigures): RangedGoal[] {
  const most = (name: string, unit: string, must: number, range: Range | null) => ({
    name,
    unit,
    isAtLeast: false,
    must,
    reached: range?.median ?? null,
    range,
  })
  const memory = rest === null ? null : [rest.idle_rss, rest.polled_rss].map(inMib)
  return [
    most('start to enforcing the kept policy', 'ms', 500, start?.away_ms ?? null),
    most('the same, server there', 'ms', 500, start?.there_ms ?? null),
    most('memory at rest', 'MiB', 100, memory?.[0] ?? null),
    most('memory at rest after polls', 'MiB', 100, memory?.[1] ?? null),
    most('of a core at rest, polls included', '%', 0.1, inPercent(rest?.share ?? null)),
    most('decision p99, update in chunks of a byte', 'ms', 20, updates?.chunked.p99 ?? null),
    most('decision p99, update of 25,000 rules', 'ms', 20, updates?.large.p99 ?? null),
  ]
}

function inMib(range: Range): Range {
  return { median: range.median / MIB, least: range.least / MIB, most: range.most / MIB }
}

function inPercent(range: Range | null): Range | null {
  if (range === null) return null
  return { median: range.median * 100, least: range.least * 100, most: range.most * 100 }
}

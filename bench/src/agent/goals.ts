import { atMost, type RangedGoal } from '../goals/ranged-goal.ts'
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

/** Compares the measured figures with every goal of the agent process. */
export function judgeAgent({ start, rest, updates }: AgentFigures): RangedGoal[] {
  const memory = rest === null ? null : [rest.idle_rss, rest.polled_rss].map(inMib)
  return [
    atMost('start to enforcing the kept policy', 'ms', 500, start?.away_ms ?? null),
    atMost('the same, server there', 'ms', 500, start?.there_ms ?? null),
    atMost('memory at rest', 'MiB', 100, memory?.[0] ?? null),
    atMost('memory at rest after polls', 'MiB', 100, memory?.[1] ?? null),
    atMost('of a core at rest, polls included', '%', 0.1, inPercent(rest?.share ?? null)),
    atMost('decision p99, update in chunks of a byte', 'ms', 20, updates?.chunked.p99 ?? null),
    atMost('decision p99, update of 25,000 rules', 'ms', 20, updates?.large.p99 ?? null),
  ]
}

function inMib(range: Range): Range {
  return { median: range.median / MIB, least: range.least / MIB, most: range.most / MIB }
}

function inPercent(range: Range | null): Range | null {
  if (range === null) return null
  return { median: range.median * 100, least: range.least * 100, most: range.most * 100 }
}

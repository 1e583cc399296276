import Table from 'cli-table3'
import { countVerdicts, verdictOf } from '../goals/goal.ts'
import type { RangedGoal } from '../goals/ranged-goal.ts'
import type { Range } from '../measure/range.ts'
import { formatNumber } from './format-number.ts'

/** Formats one row per goal, then the number of goals met. */
export function formatRangedGoals(goals: readonly RangedGoal[]): string {
  const table = new Table({
    head: ['goal', 'must', '', 'reached', 'range'],
    colAligns: ['left', 'right', 'left', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  })
  for (const goal of goals) {
    const sign = goal.isAtLeast ? '>=' : '<='
    table.push([
      goal.name,
      `${sign} ${goal.must} ${goal.unit}`,
      verdictOf(goal),
      goal.reached === null ? '' : formatNumber(goal.reached),
      goal.range === null ? '' : formatRange(goal.range),
    ])
  }
  return `${table.toString()}\ngoals: ${countVerdicts(goals)}\n`
}

export function formatRange({ least, most }: Range): string {
  return `${formatNumber(least)}-${formatNumber(most)}`
}

import Table from 'cli-table3'
import { verdictOf } from '../goals/goal.ts'
import type { RangedGoal } from '../goals/ranged-goal.ts'
import type { Range } from '../measure/range.ts'
import { formatNumber } from './format-number.ts'

/** The goals, then how many were met. */
export function formatRangedGoals(goals: readonly RangedGoal[]): string {
  const table = new Table({
    head: ['goal', 'must', '', 'aim', '', 'reached', 'range'],
    colAligns: ['left', 'right', 'left', 'right', 'left', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  })
  for (const goal of goals) {
    const sign = goal.isAtLeast ? '>=' : '<='
    table.push([
      goal.name,
      `${sign} ${goal.must} ${goal.unit}`,
      verdictOf(goal, goal.must),
      goal.aim === null ? '' : `${sign} ${goal.aim}`,
      goal.aim === null ? '' : verdictOf(goal, goal.aim),
      goal.reached === null ? '' : formatNumber(goal.reached),
      goal.range === null ? '' : formatRange(goal.range),
    ])
  }
  const musts = goals.map((goal) => verdictOf(goal, goal.must))
  const count = (verdict: string): number => musts.filter((each) => each === verdict).length
  const summary = `${count('met')} met, ${count('missed')} missed, ${count('not measured')} not measured`
  return `${table.toString()}\nmusts: ${summary}\n`
}

export function formatRange({ least, most }: Range): string {
  return `${formatNumber(least)}-${formatNumber(most)}`
}

import Table from 'cli-table3'
import { countVerdicts, verdictOf, type Goal } from '../goals/goal.ts'
import { formatNumber } from './format-number.ts'

/** Formats one row per goal, then the number of goals met. */
export function formatGoals(goals: readonly Goal[]): string {
  const table = new Table({
    head: ['goal', 'domain', 'size', 'must', '', 'reached', 'quartiles', ''],
    colAligns: ['left', 'left', 'right', 'right', 'left', 'right', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  })
  for (const goal of goals) table.push(cellsOf(goal))
  return `${table.toString()}\ngoals: ${countVerdicts(goals)}\n`
}

function cellsOf(goal: Goal): string[] {
  const { name, domain, size, reached, spread, note } = goal
  return [
    name,
    domain,
    size === null ? '' : String(size),
    `${goal.isAtLeast ? '>=' : '<='} ${withUnit(goal, goal.must)}`,
    verdictOf(goal),
    reached === null ? '' : withUnit(goal, reached),
    spread === null ? '' : `${formatNumber(spread.q1)}-${formatNumber(spread.q3)}`,
    note,
  ]
}

function withUnit({ unit }: Goal, value: number): string {
  return `${formatNumber(value)} ${unit}`
}

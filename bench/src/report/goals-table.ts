import Table from 'cli-table3'
import { verdictOf, type Goal } from '../goals/goal.ts'
import { formatNumber } from './format-number.ts'

/** The goals for a person: a row each, then how many were met. */
export function formatGoals(goals: readonly Goal[]): string {
  const table = new Table({
    head: ['goal', 'domain', 'size', 'must', '', 'aim', '', 'reached', 'quartiles', ''],
    colAligns: [
      'left',
      'left',
      'right',
      'right',
      'left',
      'right',
      'left',
      'right',
      'right',
      'left',
    ],
    style: { head: [], border: [], compact: true },
  })
  for (const goal of goals) table.push(cellsOf(goal))
  const musts = goals.map((goal) => verdictOf(goal, goal.must))
  const aims = goals.flatMap((goal) => (goal.aim === null ? [] : [verdictOf(goal, goal.aim)]))
  return `${table.toString()}\nmusts: ${count(musts)}; aims: ${count(aims)}\n`
}

function cellsOf(goal: Goal): string[] {
  const { name, domain, size, must, aim, reached, spread, note } = goal
  return [
    name,
    domain,
    size === null ? '' : String(size),
    bound(goal, must),
    verdictOf(goal, must),
    aim === null ? '' : bound(goal, aim),
    aim === null ? '' : verdictOf(goal, aim),
    reached === null ? '' : withUnit(goal, reached),
    spread === null ? '' : `${formatNumber(spread.q1)}-${formatNumber(spread.q3)}`,
    note,
  ]
}

function bound(goal: Goal, value: number): string {
  return `${goal.isAtLeast ? '>=' : '<='} ${withUnit(goal, value)}`
}

function withUnit({ unit }: Goal, value: number): string {
  return `${formatNumber(value)} ${unit}`
}

function count(verdicts: readonly string[]): string {
  const of = (verdict: string): number => verdicts.filter((each) => each === verdict).length
  return `${of('met')} met, ${of('missed')} missed, ${of('not measured')} not measured`
}

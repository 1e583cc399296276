import Table from 'cli-table3'
import { verdictOf } from '../../goals/goal.ts'
import { formatNumber } from '../../report/format-number.ts'
import type { AgentsResult } from '../cases/agents.ts'
import type { ServerGoal } from '../goals.ts'
import type { Range, Row } from '../rounds.ts'

const STYLE = { head: [], border: [], compact: true }

/** What each kind of request costs. */
export function formatRows(rows: readonly Row[]): string {
  const table = new Table({
    head: ['request', 'CPU us', 'range', 'x bare', 'range', 'a second', 'p99 ms', 'requests'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
    style: STYLE,
  })
  for (const row of rows)
    table.push([
      row.name,
      formatNumber(row.cpu_us.median),
      formatRange(row.cpu_us),
      formatNumber(row.ratio.median),
      formatRange(row.ratio),
      formatNumber(row.per_second.median),
      formatNumber(row.p99_ms.median),
      String(row.requests),
    ])
  return `${table.toString()}\n`
}

/** How many polls one processor answers, by how many agents take turns. */
export function formatAgents(results: readonly AgentsResult[]): string {
  const table = new Table({
    head: ['agents', 'CPU us a poll', 'x bare', 'polls/s of one processor', 'memory MiB'],
    colAligns: ['right', 'right', 'right', 'right', 'right'],
    style: STYLE,
  })
  for (const { agents, poll, rss } of results)
    table.push([
      formatNumber(agents),
      formatNumber(poll.cpu_us.median),
      formatNumber(poll.ratio.median),
      formatNumber(1e6 / poll.cpu_us.median),
      formatNumber(rss / 1024 / 1024),
    ])
  return `${table.toString()}\n`
}

/** The goals, then how many were met. */
export function formatServerGoals(goals: readonly ServerGoal[]): string {
  const table = new Table({
    head: ['goal', 'must', '', 'aim', '', 'reached', 'range'],
    colAligns: ['left', 'right', 'left', 'right', 'left', 'right', 'right'],
    style: STYLE,
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

function formatRange({ least, most }: Range): string {
  return `${formatNumber(least)}-${formatNumber(most)}`
}

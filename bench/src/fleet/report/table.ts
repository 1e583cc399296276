import Table from 'cli-table3'
import { formatNumber } from '../../report/format-number.ts'
import type { FleetGoal } from '../judge-fleet.ts'
import type { FleetSummary } from '../summarize.ts'

const STYLE = { head: [], border: [], compact: true }
const MIB = 1024 * 1024

/** Formats the measured figures, then the goals. */
export function formatFleet(summary: FleetSummary, goals: readonly FleetGoal[]): string {
  const { steady, convergence } = summary
  const found = new Table({ head: ['found', ''], colAligns: ['left', 'right'], style: STYLE })
  const seconds = (ms: number | null): string =>
    ms === null ? 'never' : `${formatNumber(ms / 1000)} s`
  found.push(
    ['polls a second at rest', formatNumber(steady.polls_per_second)],
    ['processor of the server at rest', percent(steady.server_cpu)],
    ['the same, a poll', `${formatNumber(steady.cpu_us_a_poll)} us`],
    ['memory of the server', `${formatNumber(steady.server_rss / MIB)} MiB`],
    ['processor of the server, change', percent(summary.change_cpu)],
    ['half have the change', seconds(convergence.p50)],
    ['99 %', seconds(convergence.p99)],
    ['99.9 %', seconds(convergence.p999)],
    ['all', seconds(convergence.all)],
    ['answered 503', String(summary.turned_away)],
    ['not answered while the server was up', String(summary.failed)],
    ['processor of the server, return, peak', percent(summary.back.server_cpu_peak)],
    ['memory of all agents', `${formatNumber(summary.agents_rss / MIB)} MiB`],
  )
  const table = new Table({
    head: ['goal', 'must', 'reached', ''],
    colAligns: ['left', 'right', 'right', 'left'],
    style: STYLE,
  })
  for (const { name, must, unit, isAtLeast, reached, verdict } of goals)
    table.push([
      name,
      `${isAtLeast ? '>=' : '<='} ${must} ${unit}`,
      reached === null ? '' : formatNumber(reached),
      verdict,
    ])
  return `${found.toString()}\n${table.toString()}\n`
}

function percent(share: number): string {
  return `${formatNumber(100 * share)} %`
}

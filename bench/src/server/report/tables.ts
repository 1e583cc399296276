import Table from 'cli-table3'
import { formatNumber } from '../../report/format-number.ts'
import type { AgentsResult } from '../cases/agents.ts'
import { formatRange } from '../../report/ranged-goals-table.ts'
import type { IngestRow } from '../evidence/ingest-row.ts'
import type { HostileRow } from '../hostile/measure-hostile.ts'
import type { Row } from '../rounds.ts'

const STYLE = { head: [], border: [], compact: true }

/** Formats the cost of each kind of request. */
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

/** Formats how many polls one processor answers, by number of agents. */
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

/** Formats the processor time of a decision record, beside that of `JSON.parse` of its line. */
export function formatIngest(rows: readonly IngestRow[]): string {
  const table = new Table({
    head: ['records of', 'targets', 'parse us', 'read us', 'x parse', 'ingest us', 'x parse'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right'],
    style: STYLE,
  })
  for (const { name, tuples, parsed_us, read_us, ingested_us } of rows)
    table.push([
      name,
      formatNumber(tuples),
      formatNumber(parsed_us),
      formatNumber(read_us),
      formatNumber(read_us / parsed_us),
      formatNumber(ingested_us),
      formatNumber(ingested_us / parsed_us),
    ])
  return `${table.toString()}\n`
}

/** Formats a bystander's latency at rest and beside each kind of hostile load. */
export function formatHostile(rows: readonly HostileRow[]): string {
  const table = new Table({
    head: ['hostile load', 'rest p99 ms', 'p50 ms', 'p99 ms', 'x rest', 'failed', 'its answers'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'left'],
    style: STYLE,
  })
  for (const row of rows)
    table.push([
      row.name,
      formatNumber(row.rest_p99_ms),
      formatNumber(row.p50_ms),
      formatNumber(row.p99_ms),
      formatNumber(row.p99_ms / row.rest_p99_ms),
      String(row.failed),
      Object.entries(row.statuses)
        .map(([status, count]) => `${count} x ${status}`)
        .join(', '),
    ])
  return `${table.toString()}\n`
}

import type { Range } from '../measure/range.ts'
import { formatNumber } from '../report/format-number.ts'
import { formatRange } from '../report/ranged-goals-table.ts'
import { WAYS, type RequestsResult } from './cases/requests.ts'
import type { StartResult, StartRound } from './cases/start.ts'
import type { SandboxFigures } from './goals.ts'

const STARTS: Readonly<Record<keyof StartRound, string>> = {
  node: 'node -e 0',
  client: 'palisade run, without a sandbox',
  palisade: 'palisade run true',
  bubblewrap: 'bubblewrap alone',
  sandbox_runtime: 'sandbox-runtime',
  mxc: 'mxc-sdk',
}

/** Formats the figures behind the goals, a line each. */
export function formatFigures({ start, requests, large, masks, many }: SandboxFigures): string {
  const lines: string[] = []
  if (start !== null) lines.push(...formatStart(start))
  if (requests !== null) lines.push(...formatRequests(requests))
  if (large !== null)
    lines.push(
      `${large.files} files, ${large.deny_patterns} deny patterns: ${formatMs(large.large_ms)}; ` +
        `empty ${formatMs(large.empty_ms)}; difference ${formatMs(large.more_ms)}`,
    )
  if (masks !== null) {
    const [p50, p99, longest] = [masks.p50_ms, masks.p99_ms, masks.longest_ms].map(formatNumber)
    lines.push(
      `mask again after ${masks.saves} saves: p50 ${p50} ms, p99 ${p99} ms, longest ${longest} ms`,
    )
  }
  if (many !== null)
    lines.push(
      `${many.running} of ${many.sandboxes} sandboxes run, ${formatKib(many.bytes_each)} each, ` +
        `${formatKib(many.agent_bytes_each)} of it in the agent`,
    )
  return lines.map((line) => `${line}\n`).join('')
}

function formatStart({ ms, left_out }: StartResult): string[] {
  const keys = Object.keys(STARTS) as (keyof StartRound)[]
  const measured = keys.flatMap((key) => {
    const range = ms[key]
    return range === null ? [] : [`${STARTS[key]}: ${formatMs(range)}`]
  })
  return [...measured, ...left_out.map(({ contender, why }) => `${contender} left out: ${why}`)]
}

function formatRequests({ ways }: RequestsResult): string[] {
  return WAYS.map((way) => {
    const { opened_cpu_us: opened, kept_cpu_us: kept, ...ratios } = ways[way]
    const ratio = ({ median }: Range): string => `${formatNumber(median)} x plain`
    return (
      `${way.replace('_', ' ')}: new connection ${formatNumber(opened.median)} µs ` +
      `(${ratio(ratios.opened_ratio)}), request ${formatNumber(kept.median)} µs ` +
      `(${ratio(ratios.kept_ratio)})`
    )
  })
}

function formatMs(range: Range): string {
  return `${formatNumber(range.median)} ms (${formatRange(range)})`
}

function formatKib(bytes: number): string {
  return `${formatNumber(bytes / 1024)} KiB`
}

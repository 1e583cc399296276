import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GOALS } from '../goals.ts'
import { formatNumber } from './format-number.ts'
import { formatBounds } from './goal.ts'
import { readResults } from './results.ts'

export const README = join(import.meta.dirname, '../../README.md')

/**
 * Formats the goals of a subject beside the recorded figures, as Prettier formats a table. Goals of
 * one name share a line. A dash is a figure that the recorded run lacks.
 */
export function formatRecorded(subject: string): string {
  const { figures } = readResults(subject)
  const goals = Map.groupBy(GOALS[subject] ?? [], ({ name, unit }) => `${name} ${unit}`)
  const rows = Array.from(goals.values(), (all) => [
    all[0]?.name ?? '',
    formatBounds(all),
    all.map((goal) => formatFound(goal.find(figures)?.median)).join(', '),
  ])
  const all = [['Goal', 'Bound', 'Recorded'], ...rows]
  const widths = [0, 1, 2].map((at) => Math.max(...all.map((cells) => cells[at]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  const [head = [], ...body] = all
  return [line(head), rule, ...body.map(line)].join('\n')
}

function formatFound(median: number | undefined): string {
  return median === undefined ? '–' : formatNumber(median)
}

/** Replaces the table of a subject, which is between two comments. */
export function replaceTable(readme: string, subject: string, table: string): string {
  const [begin, end] = [`<!-- goals: ${subject} -->`, '<!-- end -->']
  const from = readme.indexOf(begin) + begin.length
  const to = readme.indexOf(end, from)
  if (from < begin.length || to < 0) throw new Error(`bench/README.md has no \`${begin}\``)
  return `${readme.slice(0, from)}\n\n${table}\n\n${readme.slice(to)}`
}

/** Writes the table of a subject into README. */
export function updateReadme(subject: string): void {
  const readme = readFileSync(README, 'utf8')
  writeFileSync(README, replaceTable(readme, subject, formatRecorded(subject)))
}

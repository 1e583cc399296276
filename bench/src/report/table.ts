import Table from 'cli-table3'
import { nameOfCase, type CaseResult, type Figure, type LeftOut } from '../case.ts'
import { formatNumber } from './format-number.ts'

/** Formats one row per figure, then the contenders that were left out and why. */
export function formatTable(results: readonly CaseResult[]): string {
  const table = new Table({
    head: ['case', 'contender', 'figure', 'unit', 'x baseline', 'quartiles', 'x ours', 'rounds'],
    colAligns: ['left', 'left', 'right', 'left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  })
  for (const result of results)
    for (const [index, figure] of result.figures.entries())
      table.push([index === 0 ? nameOfCase(result.case) : '', ...cellsOf(figure)])
  return [table.toString(), '', ...leftOutLines(results), ''].join('\n')
}

function cellsOf({ contender, value, unit, ratio, spread, to_ours, rounds }: Figure): string[] {
  return [
    contender,
    formatNumber(value),
    unit,
    ratio === null ? '' : formatNumber(ratio),
    spread === null ? '' : `${formatNumber(spread.q1)}-${formatNumber(spread.q3)}`,
    to_ours === null ? '' : formatNumber(to_ours.ratio),
    String(rounds),
  ]
}

/** One line per contender and reason, with all its cases. */
function leftOutLines(results: readonly CaseResult[]): string[] {
  const cases = new Map<string, string[]>()
  for (const { case: each, left_out } of results)
    for (const { contender, why } of left_out) {
      const line = `left out: ${contender}: ${why}`
      cases.set(line, [...(cases.get(line) ?? []), nameOfCase(each)])
    }
  return [...cases].map(([line, names]) => `${line} (${names.join('; ')})`)
}

/** Formats the cases that a run did not reach or that failed. */
export function formatLeftOutCases(cases: readonly LeftOut[]): string {
  return cases.map(({ contender, why }) => `left out: ${contender}: ${why}\n`).join('')
}

import { quartilesOf, type Range } from '../figures/range.ts'
import type { Row } from '../figures/table.ts'
import type { Case, CaseResult } from './case.ts'

/**
 * One result of several runs of the same case: of decisions the run on the quietest machine, of
 * single readings the medians. Throws for no runs.
 */
export function mergeRuns(kind: Case['kind'], results: readonly CaseResult[]): CaseResult {
  const [first] = results
  if (first === undefined) throw new RangeError('no results to merge; give at least one')
  if (results.length === 1) return first
  if (kind === 'decide') return takeQuietest(first, results)
  const rows = Object.entries(first.rows).map(([name, row]) => [
    name,
    mergeRows(results.map((result) => result.rows[name] ?? row)),
  ])
  return { ...first, rows: Object.fromEntries(rows) as CaseResult['rows'] }
}

/**
 * Returns the run in which the baseline was fastest. A neighbour on the same core slows the
 * baseline and our code by different factors, so the choice depends on the baseline alone.
 */
function takeQuietest(first: CaseResult, results: readonly CaseResult[]): CaseResult {
  return results.reduce((best, each) => (baselineOf(each) < baselineOf(best) ? each : best), first)
}

function baselineOf({ rows }: CaseResult): number {
  const [baseline = {}] = Object.values(rows)
  return Object.values(baseline)[0]?.median ?? Infinity
}

function mergeRows(rows: readonly Row[]): Row {
  const columns = Object.keys(rows[0] ?? {})
  const merge = (column: string): Range =>
    quartilesOf(rows.map((row) => row[column]?.median ?? Number.NaN))
  return Object.fromEntries(columns.map((column) => [column, merge(column)]))
}

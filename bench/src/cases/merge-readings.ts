import type { CaseResult, Figure } from '../case.ts'
import { quantile } from '../measure/quantile.ts'

/**
 * One result of several runs of the same case, each with single readings: their medians, with the
 * quartiles of the ratios, or of the values where nothing stands beside them. Throws for no runs.
 */
export function mergeReadings(results: readonly CaseResult[]): CaseResult {
  const [first] = results
  if (first === undefined) throw new RangeError('no results to merge; give at least one')
  const figures = first.figures.map((figure, index) =>
    mergeFigure(
      figure,
      results.flatMap((result) => result.figures[index] ?? []),
    ),
  )
  return { ...first, figures }
}

function mergeFigure(first: Figure, all: readonly Figure[]): Figure {
  const values = all.map(({ value }) => value)
  const ratios = all.flatMap(({ ratio }) => ratio ?? [])
  const spreadOf = ratios.length === 0 ? values : ratios
  return {
    ...first,
    value: quantile(values, 0.5),
    ratio: ratios.length === 0 ? null : quantile(ratios, 0.5),
    spread:
      all.length === 1 ? null : { q1: quantile(spreadOf, 0.25), q3: quantile(spreadOf, 0.75) },
    rounds: all.length,
  }
}

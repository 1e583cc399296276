import type { CaseResult, Figure } from '../case.ts'
import { quantile } from '../measure/quantile.ts'

/**
 * One result of several runs of the same case: of decisions the run on the quietest machine, of
 * single readings the medians. Throws for no runs.
 */
export function mergeRuns(results: readonly CaseResult[]): CaseResult {
  const [first] = results
  return first?.case.kind === 'decide' ? takeQuietest(results) : mergeReadings(results)
}

/**
 * Returns the run in which the baseline was fastest. A neighbour on the same core slows the
 * baseline and our code by different factors, so the choice depends on the baseline alone.
 */
export function takeQuietest(results: readonly CaseResult[]): CaseResult {
  const baselineOf = ({ figures }: CaseResult): number => figures[0]?.value ?? Infinity
  const [quietest] = results.toSorted((a, b) => baselineOf(a) - baselineOf(b))
  if (quietest === undefined) throw new RangeError('no results to choose from; give at least one')
  return quietest
}

/**
 * Merges several runs of one case with single readings: their medians, with the quartiles of the
 * ratios, or of the values without a baseline. Throws when `results` is empty.
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

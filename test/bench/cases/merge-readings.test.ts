import { expect, it } from 'vitest'
import type { CaseResult } from '../../../bench/src/case.ts'
import { mergeReadings, mergeRuns, takeQuietest } from '../../../bench/src/cases/merge-readings.ts'

function reading(value: number, ratio: number | null): CaseResult {
  return {
    case: { kind: 'first decision', input: '24 ** against 400 segments' },
    figures: [
      { contender: 'a', unit: 'ms, first', value, ratio, spread: null, to_ours: null, rounds: 1 },
    ],
    left_out: [],
  }
}

it('merges readings to their medians, with the quartiles of the ratios', () => {
  const readings = [[5, 50] as const, [1, 10] as const, [3, 30] as const].map(([value, ratio]) =>
    reading(value, ratio),
  )

  const [figure] = mergeReadings(readings).figures

  expect(figure).toMatchObject({ value: 3, ratio: 30, spread: { q1: 10, q3: 30 }, rounds: 3 })
})

it('takes the quartiles of the values when there is no baseline', () => {
  const [figure] = mergeReadings([5, 1, 3, 2, 4].map((value) => reading(value, null))).figures

  expect(figure).toMatchObject({ value: 3, ratio: null, spread: { q1: 2, q3: 4 }, rounds: 5 })
})

it('throws without readings', () => {
  expect(() => mergeReadings([])).toThrow('no results to merge')
})

it('takes the run of decisions in which the baseline was fastest', () => {
  const run = (baseline: number, ours: number): CaseResult => ({
    case: {
      kind: 'decide',
      domain: 'hosts',
      size: 100,
      mix: 'mixed',
      strings: 'fresh',
      peers: false,
      budgetMs: 1,
    },
    figures: [baseline, ours].map((value) => ({
      contender: 'a',
      unit: 'ns a decision',
      value,
      ratio: 1,
      spread: null,
      to_ours: null,
      rounds: 1,
    })),
    left_out: [],
  })
  const [slow, quiet, busy] = [run(60, 130), run(50, 140), run(90, 120)]

  expect(mergeRuns([slow, quiet, busy])).toBe(quiet)
  expect(() => takeQuietest([])).toThrow('no results to choose from')
})

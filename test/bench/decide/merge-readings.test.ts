import { expect, it } from 'vitest'
import type { CaseResult } from '../../../bench/src/decide/case.ts'
import { mergeRuns } from '../../../bench/src/decide/merge-readings.ts'
import { single } from '../../../bench/src/figures/range.ts'

const reading = (ms: number, ratio: number): CaseResult => ({
  rows: { a: { ms: single(ms), 'x baseline': single(ratio) } },
  left_out: [],
})

it('merges readings to their medians and quartiles', () => {
  const readings = [reading(5, 50), reading(1, 10), reading(3, 30)]

  expect(mergeRuns('first decision', readings).rows).toEqual({
    a: {
      ms: { median: 3, low: 1, high: 3 },
      'x baseline': { median: 30, low: 10, high: 30 },
    },
  })
})

it('keeps a single reading as it is', () => {
  const only = reading(5, 50)

  expect(mergeRuns('first decision', [only])).toBe(only)
  expect(() => mergeRuns('first decision', [])).toThrow('no results to merge')
})

it('takes the run of decisions in which the baseline was fastest', () => {
  const run = (baseline: number, ours: number): CaseResult => ({
    rows: { 'Map.get': { ns: single(baseline) }, ours: { ns: single(ours) } },
    left_out: [],
  })
  const [slow, quiet, busy] = [run(60, 130), run(50, 140), run(90, 120)]

  expect(mergeRuns('decide', [slow, quiet, busy])).toBe(quiet)
})

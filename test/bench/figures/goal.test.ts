import { describe, expect, it } from 'vitest'
import {
  atLeast,
  atMost,
  formatGoals,
  verdictOf,
  worstOf,
} from '../../../bench/src/figures/goal.ts'
import { divide, quartilesOf, rangeOf, single } from '../../../bench/src/figures/range.ts'

const figures = { poll: { ours: { 'x bare': rangeOf([0.5, 0.6, 0.7]) } } }
const WHERE = ['poll', 'ours', 'x bare'] as const

describe('a goal', () => {
  it('compares the median with its bound', () => {
    expect(verdictOf(atMost('poll', 0.6, 'x', WHERE), figures)).toBe('met')
    expect(verdictOf(atMost('poll', 0.59, 'x', WHERE), figures)).toBe('missed')
    expect(verdictOf(atLeast('poll', 0.6, 'x', WHERE), figures)).toBe('met')
    expect(verdictOf(atLeast('poll', 0.61, 'x', WHERE), figures)).toBe('missed')
  })

  it('is not measured without its figure', () => {
    expect(verdictOf(atMost('poll', 1, 'x', ['poll', 'bare', 'x bare']), figures)).toBe(
      'not measured',
    )
    expect(verdictOf(atMost('poll', 1, 'x', worstOf('hostile', 'ms')), figures)).toBe(
      'not measured',
    )
  })

  it('may be about the worst row', () => {
    const rows = { a: { ms: single(3) }, b: { ms: single(9) }, c: { failed: single(0) } }

    expect(worstOf('load', 'ms')({ load: rows })).toEqual({ median: 9, low: 3, high: 9 })
  })

  it('has a line with its bound, figure and verdict', () => {
    const text = formatGoals([atMost('a poll', 1, 'x bare', WHERE)], figures)

    expect(text).toMatch(/a poll .* ≤ 1 x bare .* 0\.6 .* 0\.5-0\.7 .* met /)
    expect(text).toContain('goals: 1 met, 0 missed, 0 not measured')
  })
})

describe('a range', () => {
  it('has the median with the extremes of rounds or the quartiles of slices', () => {
    expect(rangeOf([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3 })
    expect(quartilesOf([5, 1, 3, 2, 4])).toEqual({ median: 3, low: 2, high: 4 })
  })

  it('divides within each round, because the machine may be slower in another', () => {
    expect(divide([400, 40, 80], [100, 10, 80])).toEqual([4, 4, 1])
  })
})

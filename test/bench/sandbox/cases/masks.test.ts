import { expect, it } from 'vitest'
import { summarizeMasks } from '../../../../bench/src/sandbox/cases/masks.ts'

it('tells the median, the hundredth longest and the longest window', () => {
  const windows = Array.from({ length: 101 }, (_, n) => n).toReversed()

  expect(summarizeMasks(windows)).toEqual({ p50_ms: 50, p99_ms: 99, longest_ms: 100, saves: 101 })
})

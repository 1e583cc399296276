import { expect, it } from 'vitest'
import { describeStart } from '../../../bench/src/sandbox/measure-start.ts'

it('divides the time of each sandbox by ours in the same round', () => {
  const rows = describeStart({ 'palisade run': [40, 80, 80], 'sandbox-runtime': [80, 160, 240] })

  expect(rows['sandbox-runtime']).toEqual({
    ms: { median: 160, low: 80, high: 240 },
    'x palisade': { median: 2, low: 2, high: 3 },
  })
})

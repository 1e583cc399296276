import { describe, expect, it } from 'vitest'
import { spreadLabels } from '../../../bench/src/report/spread-labels.ts'

const ROOM = { gap: 10, from: 0, to: 100 }

describe('spreadLabels', () => {
  it('leaves labels where they want to be when there is room', () => {
    expect(spreadLabels([50, 10, 30], ROOM)).toEqual([50, 10, 30])
  })

  it('moves those apart that would touch, in their order', () => {
    expect(spreadLabels([30, 31, 30.5], ROOM)).toEqual([30, 50, 40])
  })

  it('keeps them inside at the end', () => {
    expect(spreadLabels([98, 99, 97], ROOM)).toEqual([90, 100, 80])
  })
})

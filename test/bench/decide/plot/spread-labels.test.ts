import { describe, expect, it } from 'vitest'
import { spreadLabels } from '../../../../bench/src/decide/plot/spread-labels.ts'

const ROOM = { gap: 10, from: 0, to: 100 }

describe('spreadLabels', () => {
  it('keeps the wanted positions when there is room', () => {
    expect(spreadLabels([50, 10, 30], ROOM)).toEqual([50, 10, 30])
  })

  it('moves overlapping labels apart in their order', () => {
    expect(spreadLabels([30, 31, 30.5], ROOM)).toEqual([30, 50, 40])
  })

  it('keeps labels inside the range', () => {
    expect(spreadLabels([98, 99, 97], ROOM)).toEqual([90, 100, 80])
  })
})

import { backOffMs } from '@palisade/client'
import { describe, expect, it } from 'vitest'

describe('a pause after failures', () => {
  const pause = (failures: number, chance: number): number =>
    backOffMs(failures, { firstMs: 5_000, capMs: 60_000, random: () => chance })

  it('lies below a bound that doubles up to the cap', () => {
    const halves = [0, 1, 2, 3, 4, 2_000].map((failures) => pause(failures, 0.5))

    expect(halves).toEqual([2_500, 5_000, 10_000, 20_000, 30_000, 30_000])
  })

  it('may be zero', () => {
    expect(pause(7, 0)).toBe(0)
  })
})

import { fc, it } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { planSlices } from '../../../server/src/history/event-slices.ts'

const MAX_BYTES = 1024 * 1024
/** Bytes read at once, including the frame of each event. */
const [SLICE_BYTES, FRAME_BYTES] = [64 * 1024, 512]

const sized = (...bytes: number[]) =>
  bytes.map((each, index) => ({ sequence: index + 1, bytes: each }))

describe('the slices of a page of events', () => {
  it('are one for small events, and one for each large event', () => {
    const plan = planSlices(sized(100, 200, 70_000, 80_000, 10), 100, MAX_BYTES)

    expect(plan.slices).toEqual([
      { after: 0, through: 2, limit: 2, bytes: 300 + 2 * FRAME_BYTES },
      { after: 2, through: 3, limit: 1, bytes: 70_000 + FRAME_BYTES },
      { after: 3, through: 4, limit: 1, bytes: 80_000 + FRAME_BYTES },
      { after: 4, through: 5, limit: 1, bytes: 10 + FRAME_BYTES },
    ])
    expect(plan).toMatchObject({ isWhole: true, isSmall: false })
    expect(planSlices(sized(100, 200), 100, MAX_BYTES)).toEqual({
      slices: [{ after: 0, through: 2, limit: 2, bytes: 300 + 2 * FRAME_BYTES }],
      isWhole: true,
      isSmall: true,
    })
  })

  it('contain the first event regardless of its size', () => {
    const plan = planSlices(sized(2 * MAX_BYTES, 10), 100, MAX_BYTES)

    expect(plan.slices).toEqual([
      { after: 0, through: 1, limit: 1, bytes: 2 * MAX_BYTES + FRAME_BYTES },
    ])
    expect(plan).toMatchObject({ isWhole: false, isSmall: false })
  })

  it('are incomplete when the requested number fits', () => {
    expect(planSlices(sized(1, 1), 2, MAX_BYTES).isWhole).toBe(false)
    expect(planSlices(sized(1, 1), 3, MAX_BYTES).isWhole).toBe(true)
    expect(planSlices([], 3, MAX_BYTES)).toEqual({ slices: [], isWhole: true, isSmall: true })
  })

  it.prop([
    fc.array(fc.record({ gap: fc.integer({ min: 1, max: 9 }), bytes: fc.nat(200_000) }), {
      maxLength: 100,
    }),
  ])('contain each event once, in order, within their size', (drawn) => {
    let sequence = 0
    const sizes = drawn.map(({ gap, bytes }) => ({ sequence: (sequence += gap), bytes }))

    const { slices } = planSlices(sizes, 100, MAX_BYTES)

    const held = slices.map(({ after, through, limit }) => {
      const within = sizes.filter((each) => each.sequence > after && each.sequence <= through)
      expect(within).toHaveLength(limit)
      const bytes = within.reduce((sum, each) => sum + each.bytes + FRAME_BYTES, 0)
      expect(limit === 1 || bytes <= SLICE_BYTES).toBe(true)
      return within
    })
    expect(held.flat()).toEqual(sizes.slice(0, held.flat().length))
    const total = held.flat().reduce((sum, each) => sum + each.bytes + FRAME_BYTES, 0)
    expect(held.flat().length <= 1 || total <= MAX_BYTES).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import { interleave, type Lane } from '../../../bench/src/measure/interleave.ts'

const OPTIONS = {
  budgetMs: 30,
  sliceMs: 0.5,
  warmUpMs: 5,
  // Longer than a piece takes even on a busy machine.
  maxPieceMs: 1000,
  unit: 'ns a decision',
  scale: 1,
} as const

/** Creates a lane whose pieces take `pieceMs` each. */
function createBusyLane(contender: string, pieceMs: number) {
  const counts: number[] = []
  const lane: Lane = {
    contender,
    step: 2,
    maxCount: 64,
    prepare: () => undefined,
    work(count) {
      counts.push(count)
      const end = performance.now() + count * pieceMs
      while (performance.now() < end);
      return count
    },
  }
  return { lane, counts }
}

describe('interleave', () => {
  it('runs the work in every round', () => {
    const baseline = createBusyLane('baseline', 0.05)
    const other = createBusyLane('other', 0.2)

    const { figures } = interleave([baseline.lane, other.lane], OPTIONS)

    for (const [index, { counts }] of [baseline, other].entries())
      expect(counts.length).toBeGreaterThan(figures[index]?.rounds ?? Infinity)
  })

  it('divides by the first lane and measures about the time of each lane', () => {
    const lanes = [createBusyLane('baseline', 0.05).lane, createBusyLane('other', 0.2).lane]

    const { figures } = interleave(lanes, OPTIONS)

    expect(figures[0]).toMatchObject({ contender: 'baseline', ratio: 1 })
    expect(figures[0]?.value).toBeGreaterThan(49_000)
    expect(figures[1]?.ratio).toBeGreaterThan(2)
    expect(figures[1]?.ratio).toBeLessThan(8)
  })

  it('also divides lanes after ours by our lane', () => {
    const lanes = [0.05, 0.1, 0.4].map((ms, index) => createBusyLane(`lane ${index}`, ms).lane)

    const { figures } = interleave(lanes, { ...OPTIONS, ours: 'lane 1' })

    expect(figures.slice(0, 2).map(({ to_ours }) => to_ours)).toEqual([null, null])
    expect(figures[2]?.to_ours?.ratio).toBeGreaterThan(2)
    expect(figures[2]?.to_ours?.ratio).toBeLessThan(8)
  })

  it('keeps every slice a multiple of the step', () => {
    const { lane, counts } = createBusyLane('baseline', 0.1)

    interleave([lane], OPTIONS)

    expect(counts.filter((count) => count % lane.step !== 0)).toEqual([])
  })

  it('leaves out a lane that is too slow and says why', () => {
    const lanes = [createBusyLane('baseline', 0.05).lane, createBusyLane('slow', 80).lane]

    const { figures, left_out } = interleave(lanes, { ...OPTIONS, maxPieceMs: 50 })

    expect(figures.map(({ contender }) => contender)).toEqual(['baseline'])
    expect(left_out).toHaveLength(1)
    expect(left_out[0]?.contender).toBe('slow')
    expect(left_out[0]?.why).toMatch(/^one piece takes \d+ ms, more than 50 ms$/)
  })
})

import { describe, expect, it } from 'vitest'
import { interleave, type Lane } from '../../../../bench/src/decide/measure/interleave.ts'

const OPTIONS = {
  budgetMs: 30,
  sliceMs: 0.5,
  warmUpMs: 5,
  // Longer than a piece takes even on a busy machine.
  maxPieceMs: 1000,
  column: 'ns',
  scale: 1,
  ratio: 'x baseline',
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

    interleave([baseline.lane, other.lane], OPTIONS)

    for (const { counts } of [baseline, other]) expect(counts.length).toBeGreaterThan(7)
  })

  it('divides by the first lane and measures about the time of each lane', () => {
    const lanes = [createBusyLane('baseline', 0.05).lane, createBusyLane('other', 0.2).lane]

    const { rows } = interleave(lanes, OPTIONS)

    expect(Object.keys(rows['baseline'] ?? {})).toEqual(['ns'])
    expect(rows['baseline']?.['ns']?.median).toBeGreaterThan(49_000)
    expect(rows['other']?.['x baseline']?.median).toBeGreaterThan(2)
    expect(rows['other']?.['x baseline']?.median).toBeLessThan(8)
  })

  it('also divides lanes after ours by our lane', () => {
    const lanes = [0.05, 0.1, 0.4].map((ms, index) => createBusyLane(`lane ${index}`, ms).lane)

    const { rows } = interleave(lanes, { ...OPTIONS, ours: 'lane 1' })

    expect(rows['lane 0']?.['x ours']).toBeUndefined()
    expect(rows['lane 1']?.['x ours']).toBeUndefined()
    expect(rows['lane 2']?.['x ours']?.median).toBeGreaterThan(2)
    expect(rows['lane 2']?.['x ours']?.median).toBeLessThan(8)
  })

  it('keeps every slice a multiple of the step', () => {
    const { lane, counts } = createBusyLane('baseline', 0.1)

    interleave([lane], OPTIONS)

    expect(counts.filter((count) => count % lane.step !== 0)).toEqual([])
  })

  it('leaves out a lane that is too slow and says why', () => {
    const lanes = [createBusyLane('baseline', 0.05).lane, createBusyLane('slow', 80).lane]

    const { rows, left_out } = interleave(lanes, { ...OPTIONS, maxPieceMs: 50 })

    expect(Object.keys(rows)).toEqual(['baseline'])
    expect(left_out).toHaveLength(1)
    expect(left_out[0]).toMatch(/^slow: one piece takes \d+ ms, more than 50 ms$/)
  })
})

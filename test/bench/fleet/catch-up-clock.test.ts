import { describe, expect, it } from 'vitest'
import { createCatchUpClock } from '../../../bench/src/fleet/catch-up-clock.ts'

function setUp() {
  const scene = { wallMs: 1_000_000, turns: [] as (() => void)[] }
  const clock = createCatchUpClock(
    () => scene.wallMs,
    (work) => void scene.turns.push(work),
  )
  const turn = (): void => scene.turns.splice(0).forEach((work) => work())
  return { scene, clock, turn }
}

describe('createCatchUpClock', () => {
  it('returns the same time throughout one turn of the event loop', () => {
    const { scene, clock, turn } = setUp()

    expect(clock()).toBe(1_000_000)
    scene.wallMs += 500
    expect(clock()).toBe(1_000_000)
    turn()
    expect(clock()).toBe(1_000_500)
  })

  it('catches up with a stall over several turns, by less than five seconds each', () => {
    const { scene, clock, turn } = setUp()
    clock()
    turn()
    scene.wallMs += 10_000

    const told = [clock()]
    for (let n = 0; n < 3; n += 1) {
      turn()
      told.push(clock())
    }

    expect(told).toEqual([1_004_000, 1_008_000, 1_010_000, 1_010_000])
  })
})

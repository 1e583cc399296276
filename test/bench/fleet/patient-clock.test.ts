import { describe, expect, it } from 'vitest'
import { createPatientClock } from '../../../bench/src/fleet/patient-clock.ts'

function setUp() {
  const scene = { wallMs: 1_000_000, turns: [] as (() => void)[] }
  const clock = createPatientClock(
    () => scene.wallMs,
    (work) => void scene.turns.push(work),
  )
  const turn = (): void => scene.turns.splice(0).forEach((work) => work())
  return { scene, clock, turn }
}

describe('the clock of all agents', () => {
  it('tells the time, the same throughout one turn', () => {
    const { scene, clock, turn } = setUp()

    expect(clock()).toBe(1_000_000)
    scene.wallMs += 500
    expect(clock()).toBe(1_000_000)
    turn()
    expect(clock()).toBe(1_000_500)
  })

  it('takes several turns to catch up with a stall, less than five seconds each', () => {
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

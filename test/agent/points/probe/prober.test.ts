import { describe, expect, it } from 'vitest'
import {
  createProber,
  everyHour,
  type ProbedPoint,
} from '../../../../agent/src/points/probe/prober.ts'
import { NOW_MS } from '../../fixture/bundle.ts'

describe('the prober', () => {
  it('tests each point at the start and at each tick, and tells only changes', async () => {
    const outcomes = [true, true, false, false, true]
    const changes: unknown[] = []
    let tick = (): void => {}
    const point: ProbedPoint = {
      name: 'proxy',
      start: async () => {},
      stop: async () => {},
      describe: () => '',
      probe: async () => ({ at: '', ok: outcomes.shift() === true, detail: '' }),
    }
    const prober = createProber({
      points: [point],
      timetable: { start: (onTick) => void (tick = onTick), stop: () => {}, nextAt: () => null },
      onChange: () => changes.push(prober.results().proxy?.ok),
      log: { error: () => {}, info: () => {} },
    })

    expect(prober.results()).toEqual({ proxy: null })
    prober.start()
    for (const left of [3, 2, 1, 0]) {
      await expect.poll(() => outcomes.length).toBe(left + 1)
      await new Promise((resolve) => setImmediate(resolve))
      tick()
    }
    await prober.stop()

    expect(changes).toEqual([true, false, true])
  })

  it('runs at full hours', () => {
    const [first, second] = everyHour(() => NOW_MS + 1)()

    expect(new Date(first ?? 0).toISOString()).toBe('2026-11-21T13:00:00.000Z')
    expect((second ?? 0) - (first ?? 0)).toBe(3_600_000)
  })
})

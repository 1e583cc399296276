import { describe, expect, it } from 'vitest'
import { createProbeResults } from '../../../../agent/src/probe/proxy/probe-results.ts'
import { createProber, everyHour, type Probed } from '../../../../agent/src/probe/proxy/prober.ts'
import { NOW_MS } from '../../fixture/bundle.ts'

describe('the prober', () => {
  it('tests each point at the start and at each tick, and tells only changes', async () => {
    const outcomes = [true, true, false, false, true]
    const changes: unknown[] = []
    let tick = (): void => {}
    const point: Probed = {
      name: 'proxy',
      probe: async () => ({ at: '', ok: outcomes.shift() === true, detail: '' }),
    }
    const results = createProbeResults({ clock: () => NOW_MS, isShared: false })
    const prober = createProber({
      points: [point],
      results,
      timetable: { start: (onTick) => void (tick = onTick), stop: () => {}, nextAt: () => null },
      onChange: () => changes.push(results.all().proxy?.ok),
      log: { error: () => {}, info: () => {} },
    })

    expect(results.all()).toEqual({ proxy: null, sandbox: null, strict: null })
    prober.start()
    for (const left of [3, 2, 1, 0]) {
      await expect.poll(() => outcomes.length).toBe(left + 1)
      await new Promise((resolve) => setImmediate(resolve))
      tick()
    }
    await prober.stop()

    expect(changes).toEqual([true, false, true])
  })

  it('tries a costly point later than the others, and not after it was stopped', async () => {
    const tried: string[] = []
    const pointOf = (name: 'proxy' | 'sandbox'): Probed => ({
      name,
      isCostly: name === 'sandbox',
      async probe() {
        tried.push(name)
        return { at: '', ok: true, detail: '' }
      },
    })
    const deps = {
      points: [pointOf('sandbox'), pointOf('proxy')],
      results: createProbeResults({ clock: () => NOW_MS, isShared: false }),
      timetable: { start: () => {}, stop: () => {}, nextAt: () => null },
      onChange: () => {},
      log: { error: () => {}, info: () => {} },
    }
    const prober = createProber({ ...deps, settledAfterMs: 1 })
    prober.start()
    await expect.poll(() => tried, { timeout: 60_000 }).toEqual(['proxy', 'sandbox'])
    await prober.stop()

    const stopped = createProber({ ...deps, settledAfterMs: 1 })
    stopped.start()
    await stopped.stop()
    await new Promise((resolve) => void setTimeout(resolve, 20))
    expect(tried).toEqual(['proxy', 'sandbox', 'proxy'])
  })

  it('runs at full hours', () => {
    const [first, second] = everyHour(() => NOW_MS + 1)()

    expect(new Date(first ?? 0).toISOString()).toBe('2026-11-21T13:00:00.000Z')
    expect((second ?? 0) - (first ?? 0)).toBe(3_600_000)
  })
})

import * as fc from 'fast-check'
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createDraw, drawShare, isReached } from '../../../server/src/views/rollout-stage.ts'

const SECRET = new Uint8Array(32).fill(7)
const DRAW = createDraw('acme', 'r1', SECRET)
const MACHINES = Array.from({ length: 1500 }, (_, index) => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  labels: [],
}))

const share = (percent: number, draw = DRAW) =>
  new Set(
    MACHINES.filter((machine) => isReached({ stages: [{ percent }], stage: 1 }, draw, machine)).map(
      ({ id }) => id,
    ),
  )

describe('a share of machines', () => {
  // Five standard deviations, which one run in a million exceeds.
  it.each([1, 10, 25, 50, 90])('of %i percent contains that share of them', (percent) => {
    const [p, n] = [percent / 100, MACHINES.length]

    expect(Math.abs(share(percent).size - n * p)).toBeLessThan(5 * Math.sqrt(n * p * (1 - p)))
  })

  it('contains every machine of a smaller one', () => {
    const sizes = [1, 10, 25, 26, 50, 99].map((percent) => share(percent))

    for (const [index, smaller] of sizes.entries())
      expect([...smaller].filter((id) => !(sizes[index + 1] ?? smaller).has(id))).toEqual([])
  })

  it('of 100 percent contains all machines', () => {
    expect(share(100).size).toBe(MACHINES.length)
  })

  it.each([
    ['rollout', createDraw('acme', 'r2', SECRET)],
    ['secret', createDraw('acme', 'r1', new Uint8Array(32).fill(8))],
    ['organization', createDraw('rival', 'r1', SECRET)],
  ])('is drawn independently for another %s', (_name, draw) => {
    const [one, other] = [share(10), share(10, draw)]
    const both = [...one].filter((id) => other.has(id)).length

    // By chance they share a tenth, 15 machines.
    expect(both).toBeLessThan(45)
    expect(both).toBeLessThan(one.size / 2)
  })

  it('is drawn with HMAC-SHA-256 of rollout, organization and machine', () => {
    const property = fc.property(fc.string(), fc.uint8Array({ maxLength: 100 }), (id, secret) => {
      const text = JSON.stringify([{ draw: 'r1' }, 'acme', id])
      const mac = createHmac('sha256', secret).update(text).digest()
      expect(drawShare(createDraw('acme', 'r1', secret), id)).toBe(mac.readUInt32BE(0) / 2 ** 32)
    })
    fc.assert(property)
  })

  it('is between 0 and 1 and constant, for any id', () => {
    const property = fc.property(fc.string(), (id) => {
      const drawn = drawShare(DRAW, id)
      expect(drawn).toBeGreaterThanOrEqual(0)
      expect(drawn).toBeLessThan(1)
      expect(drawShare(DRAW, id)).toBe(drawn)
    })
    fc.assert(property)
  })
})

describe('a stage', () => {
  const stages = [{ label: 'canary' }, { percent: 10 }, { label: 'early' }, { percent: 100 }]
  const outside = MACHINES.find((machine) => drawShare(DRAW, machine.id) > 0.5)
  if (outside === undefined) throw new Error('every machine is in the lower half')
  const reachedAt = (labels: readonly string[]) =>
    [1, 2, 3, 4].map((stage) => isReached({ stages, stage }, DRAW, { ...outside, labels }))

  it('reaches machines with its label and those of earlier stages', () => {
    expect(reachedAt(['canary'])).toEqual([true, true, true, true])
    expect(reachedAt(['x', 'early'])).toEqual([false, false, true, true])
    expect(reachedAt([])).toEqual([false, false, false, true])
  })

  it('ignores other labels', () => {
    expect(reachedAt(['canary2', 'anary', '10'])).toEqual([false, false, false, true])
  })
})

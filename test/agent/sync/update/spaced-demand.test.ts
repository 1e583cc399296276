import { describe, expect, it } from 'vitest'
import { createSpacedDemand } from '../../../../agent/src/sync/update/poller.ts'

function setUp() {
  const begunAt: number[] = []
  let nowMs = 0
  const rests: { ms: number; end: () => void }[] = []
  const demand = createSpacedDemand(
    async () => {
      begunAt.push(nowMs)
      return { outcome: 'unchanged', revision: 1, error: null, retryAfterMs: null }
    },
    () => nowMs,
    (ms) => new Promise((resolve) => rests.push({ ms, end: resolve })),
  )
  const endRest = (): void => {
    const rest = rests.shift()
    nowMs += rest?.ms ?? 0
    rest?.end()
  }
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return { demand, begunAt, rests, endRest, pass }
}

describe('attempts that local programs request', () => {
  it('begin at once for an occasional request', async () => {
    const { demand, begunAt, pass } = setUp()

    for (let asked = 0; asked < 100; asked += 1) {
      await demand()
      pass(2_000)
    }

    expect(begunAt).toHaveLength(100)
  })

  it('begin at most once a second for a program that asks continuously', async () => {
    const { demand, begunAt, rests, endRest } = setUp()

    for (let asked = 0; asked < 60; asked += 1) {
      const answer = demand()
      if (rests.length > 0) endRest()
      await answer
    }

    expect(begunAt.filter((ms) => ms === 0)).toHaveLength(31)
    expect(begunAt.slice(31)).toEqual(Array.from({ length: 29 }, (_, n) => (n + 1) * 1_000))
  })

  it('are shared by all callers that wait for the same one', async () => {
    const { demand, begunAt, rests, endRest } = setUp()
    for (let asked = 0; asked < 31; asked += 1) await demand()

    const answers = Array.from({ length: 500 }, () => demand())
    endRest()
    await Promise.all(answers)

    expect(begunAt).toHaveLength(32)
    expect(rests).toEqual([])
  })

  it('begin again for a caller that asks after the beginning', async () => {
    const { demand, begunAt, endRest } = setUp()
    for (let asked = 0; asked < 31; asked += 1) await demand()

    const former = demand()
    endRest()
    await former
    const next = demand()
    endRest()
    await next

    expect(begunAt).toHaveLength(33)
  })
})

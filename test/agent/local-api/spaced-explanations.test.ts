import { describe, expect, it } from 'vitest'
import { createSpacedExplanations } from '../../../agent/src/local-api/spaced-explanations.ts'

describe('explanations', () => {
  it('run in order, each with a pause of four times its duration, at most 500 ms', async () => {
    let uptimeMs = 0
    const log: unknown[] = []
    const explain = createSpacedExplanations(
      (tookMs) => {
        uptimeMs += Number(tookMs)
        log.push(`took ${String(tookMs)}`)
        return tookMs
      },
      () => uptimeMs,
      async (ms) => {
        log.push(`rests ${ms}`)
        await new Promise((resolve) => setImmediate(resolve))
        log.push('rested')
      },
    )

    const explained = await Promise.all([explain(20), explain(300), explain(1)])

    expect(explained).toEqual([20, 300, 1])
    expect(log.slice(0, 7)).toEqual([
      'took 20',
      'rests 80',
      'rested',
      'took 300',
      'rests 500',
      'rested',
      'took 1',
    ])
  })

  it('continue after a failed one', async () => {
    const explain = createSpacedExplanations(
      (request) => {
        if (request === 'bug') throw new Error('a bug')
        return request
      },
      () => 0,
    )

    const failed = explain('bug')
    const next = explain('next')

    await expect(failed).rejects.toThrow('a bug')
    expect(await next).toBe('next')
  })
})

import { describe, expect, it } from 'vitest'
import { createPasswordQueue } from '../../../server/src/accounts/password-queue.ts'

describe('the password queue', () => {
  it('runs two at once, in the order of arrival', async () => {
    const queue = createPasswordQueue()
    const order: number[] = []
    let running = 0
    let most = 0
    const work = (index: number) => async () => {
      order.push(index)
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
    }

    await Promise.all([0, 1, 2, 3, 4].map((index) => queue.run(work(index))))

    expect(order).toEqual([0, 1, 2, 3, 4])
    expect(most).toBe(2)
  })

  it('turns away with 429 when too many wait, and goes on afterwards', async () => {
    const queue = createPasswordQueue()
    const gate = Promise.withResolvers<void>()
    const accepted = Array.from({ length: 66 }, () => queue.run(() => gate.promise))

    await expect(queue.run(async () => undefined)).rejects.toMatchObject({
      status: 429,
      code: 'limit_exceeded',
    })

    gate.resolve()
    await Promise.all(accepted)
    expect(await queue.run(async () => 'done')).toBe('done')
  })

  it('gives its place free when the work fails', async () => {
    const queue = createPasswordQueue()

    for (let round = 0; round < 5; round += 1)
      await expect(queue.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')

    expect(await queue.run(async () => 'done')).toBe('done')
  })
})

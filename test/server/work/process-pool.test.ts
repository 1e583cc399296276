import { describe, expect, it } from 'vitest'
import type { StartWorker } from '../../../server/src/platform/start-worker.ts'
import { createProcessPool, heapMib } from '../../../server/src/work/process-pool.ts'
import { startInProcess } from '../in-process-worker.ts'

const MIB = 1024 * 1024
const who = (org: string) => ({ org, caller: `user:${org}` })

describe('the pool of processes', () => {
  it.each([
    ['a machine with much memory', 64_000, 200, 320],
    ['a container of 700 MiB', 700, 300, 272],
    ['a container of 512 MiB', 512, 200, 184],
    ['a container that is full', 512, 500, 96],
  ])('gives a child a heap that fits into %s', (_title, limit, used, heap) => {
    expect(heapMib({ limit: limit * MIB, used: used * MIB })).toBe(heap)
  })

  it('starts children with a bound of their heap', async () => {
    const bounds: unknown[] = []
    const start: StartWorker = (name, options) => {
      bounds.push(options.resourceLimits?.maxOldGenerationSizeMb)
      return startInProcess(name, options)
    }

    await createProcessPool(start).run(who('acme'), async (startBounded) => {
      await startBounded('suggest-worker', {}).terminate()
    })

    expect(bounds).toEqual([expect.any(Number)])
    expect(bounds[0]).toBeLessThanOrEqual(320)
  })

  it('runs one piece of work at a time, of organizations in turn', async () => {
    const pool = createProcessPool(startInProcess)
    const order: string[] = []
    let running = 0
    const run = (org: string, name: string) =>
      pool.run(who(org), async () => {
        running += 1
        expect(running).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        order.push(name)
        running -= 1
      })

    await Promise.all([run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1')])

    expect(order).toEqual(['a1', 'b1', 'a2', 'a3'])
  })

  it('refuses an organization more calls than four that wait', async () => {
    const pool = createProcessPool(startInProcess)
    const gate = Promise.withResolvers<void>()

    const calls = Array.from({ length: 6 }, () => pool.run(who('a'), () => gate.promise))
    const answers = Promise.allSettled(calls)
    await expect(calls[5]).rejects.toMatchObject({ status: 429 })
    gate.resolve()

    expect((await answers).filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  })
})

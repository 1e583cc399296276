import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { PreparedLaunch } from '../../../../agent/src/sandbox/launch/prepare-launch.ts'
import { createSpareLaunch } from '../../../../agent/src/sandbox/launch/spare-launch.ts'

/** Stands for a process: `startHolder` itself is tested on real namespaces. */
function createLaunch(pid: number): PreparedLaunch {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const holder = { pid, listeners: {}, end, ended } as unknown as PreparedLaunch['holder']
  const directory = {} as PreparedLaunch['directory']
  const discard = (): Promise<void> => {
    end()
    return ended
  }
  return { id: String(pid), holder, directory, discard }
}

const AT_ONCE = (prepare: () => void): void => prepare()

function createStarts() {
  const started: PreparedLaunch[] = []
  return {
    started,
    start: () => {
      const launch = createLaunch(started.length + 1)
      started.push(launch)
      return Promise.resolve(launch)
    },
  }
}

describe('createSpareLaunch', () => {
  it('gives the prepared one, and prepares the next', async () => {
    const { started, start } = createStarts()
    const spare = createSpareLaunch(start, AT_ONCE)
    spare.prepare()
    expect(started).toHaveLength(1)
    expect((await spare.take()).id).toBe('1')
    expect(started).toHaveLength(2)
    expect((await spare.take()).id).toBe('2')
  })

  it('starts one when none is prepared', async () => {
    const { start } = createStarts()
    expect((await createSpareLaunch(start, AT_ONCE).take()).id).toBe('1')
  })

  it('never gives the same one twice', async () => {
    const { start } = createStarts()
    const spare = createSpareLaunch(start, AT_ONCE)
    spare.prepare()
    const [a, b, c] = await Promise.all([spare.take(), spare.take(), spare.take()])
    expect(new Set([a, b, c].map(({ id }) => id)).size).toBe(3)
  })

  it('replaces a spare one that has ended', async () => {
    const { started, start } = createStarts()
    const spare = createSpareLaunch(start, AT_ONCE)
    spare.prepare()
    started[0]?.holder.end()
    await started[0]?.holder.ended
    await setImmediate()
    expect((await spare.take()).id).toBe('2')
  })

  it('reports why none can be started, and tries again', async () => {
    let failures = 0
    const spare = createSpareLaunch(() => {
      failures += 1
      return Promise.reject(new Error(`no namespaces ${failures}`))
    }, AT_ONCE)
    spare.prepare()
    await expect(spare.take()).rejects.toThrow('no namespaces 1')
    await expect(spare.take()).rejects.toThrow('no namespaces 2')
  })

  it('ends the spare one when it stops, and prepares no other', async () => {
    const { started, start } = createStarts()
    const spare = createSpareLaunch(start, AT_ONCE)
    spare.prepare()
    await spare.stop()
    await started[0]?.holder.ended
    spare.prepare()
    expect(started).toHaveLength(1)
  })
})

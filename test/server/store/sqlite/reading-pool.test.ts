import { describe, expect, it } from 'vitest'
import { nextTurn } from '../../../../server/src/platform/next-turn.ts'
import {
  createReadingPool,
  type ReadingSession,
} from '../../../../server/src/store/sqlite/reading-pool.ts'

/** Numbered sessions, and the closed ones. */
function countSessions() {
  let opened = 0
  const closed: number[] = []
  const open = (): ReadingSession<number> => {
    opened += 1
    const number = opened
    return { read: (work) => work(number), close: () => closed.push(number) }
  }
  return { open, closed, opened: () => opened }
}

describe('a pool of reading connections', () => {
  it('gives a read during a pause of another its own connection', async () => {
    const sessions = countSessions()
    const pool = createReadingPool(sessions.open(), sessions.open, { connections: 2 })
    const pause = Promise.withResolvers<undefined>()

    const paused = pool.read(async (session) => {
      await pause.promise
      return session
    })

    expect(await pool.read(async (session) => session)).toBe(2)
    pause.resolve(undefined)
    expect(await paused).toBe(1)
  })

  it('reuses one connection for sequential reads', async () => {
    const sessions = countSessions()
    const pool = createReadingPool(sessions.open(), sessions.open, { connections: 8 })

    for (let read = 0; read < 20; read += 1) await pool.read(async () => undefined)

    expect(sessions.opened()).toBe(1)
  })

  it('admits as many reads as connections, and the others in order', async () => {
    const sessions = countSessions()
    const pool = createReadingPool(sessions.open(), sessions.open, { connections: 2 })
    const pauses = [1, 2, 3, 4].map(() => Promise.withResolvers<undefined>())
    const started: number[] = []
    const reads = pauses.map(({ promise }, index) =>
      pool.read(async () => {
        started.push(index)
        await promise
      }),
    )
    await nextTurn()

    expect(started).toEqual([0, 1])
    pauses[1]?.resolve(undefined)
    await reads[1]
    await nextTurn()
    expect(started).toEqual([0, 1, 2])
    for (const { resolve } of pauses) resolve(undefined)
    await Promise.all(reads)
    expect(started).toEqual([0, 1, 2, 3])
    expect(sessions.opened()).toBe(2)
  })

  it('yields to the event loop between reads that never pause', async () => {
    const sessions = countSessions()
    const bounds = { connections: 2, turnMs: 0 }
    const pool = createReadingPool(sessions.open(), sessions.open, bounds)
    let turns = 0
    const count = (): void => {
      turns += 1
      if (turns < 100) setImmediate(count)
    }
    setImmediate(count)

    for (let read = 0; read < 20; read += 1) await pool.read(async () => undefined)

    expect(turns).toBeGreaterThanOrEqual(19)
  })

  it('continues with its connections when no other can be opened', async () => {
    const sessions = countSessions()
    const refuse = () => {
      throw new Error('too many open files')
    }
    const pool = createReadingPool(sessions.open(), refuse, { connections: 2 })
    const pause = Promise.withResolvers<undefined>()

    const paused = pool.read(() => pause.promise)
    const waiting = pool.read(async (session) => session)
    await nextTurn()
    pause.resolve(undefined)

    await paused
    expect(await waiting).toBe(1)
  })

  it('throws the error of a read, and reuses its connection', async () => {
    const sessions = countSessions()
    const pool = createReadingPool(sessions.open(), sessions.open, { connections: 1 })

    await expect(pool.read(() => Promise.reject(new Error('stop')))).rejects.toThrow('stop')

    expect(await pool.read(async (session) => session)).toBe(1)
  })

  it('closes after pending reads, and refuses later ones', async () => {
    const sessions = countSessions()
    const bounds = { connections: 1, turnMs: 0 }
    const pool = createReadingPool(sessions.open(), sessions.open, bounds)
    const reads = [1, 2, 3].map((number) =>
      pool.read(async () => {
        await nextTurn()
        expect(sessions.closed).toEqual([])
        return number
      }),
    )

    const closing = pool.close()

    await expect(pool.read(async () => 0)).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
    expect(await Promise.all(reads)).toEqual([1, 2, 3])
    await closing
    expect(sessions.closed).toEqual([1])
  })
})

import { setImmediate as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createLoopTurns } from '../../../agent/src/http/loop-turns.ts'

/** Takes longer than the time of a turn. */
function work(): void {
  const untilMs = performance.now() + 5
  while (performance.now() < untilMs);
}

describe('waiting tasks', () => {
  it('run in order, long ones each in their own turn', async () => {
    const turns = createLoopTurns()
    const done: string[] = []
    for (const name of ['a', 'b', 'c'])
      turns.later(() => {
        done.push(name)
        work()
      })
    const seen: number[] = []
    while (done.length < 3) {
      seen.push(done.length)
      await pause()
    }

    expect(done).toEqual(['a', 'b', 'c'])
    expect(seen).toEqual(expect.arrayContaining([0, 1, 2]))
  })

  it('have time again in the next turn', async () => {
    const turns = createLoopTurns()
    work()
    expect(turns.hasTime()).toBe(true)
    work()
    expect(turns.hasTime()).toBe(false)
    await pause()
    await pause()

    expect(turns.hasTime()).toBe(true)
  })

  it('run after the tasks that wait already', async () => {
    const turns = createLoopTurns()
    const done: string[] = []
    turns.later(() => {
      done.push('a')
      turns.later(() => done.push('a again'))
    })
    turns.later(() => done.push('b'))
    await expect.poll(() => done.length).toBe(3)

    expect(done).toEqual(['a', 'b', 'a again'])
  })
})

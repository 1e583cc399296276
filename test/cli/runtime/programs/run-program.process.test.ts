import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { createRunProgram } from '../../../../packages/cli/src/runtime/programs/run-program.ts'

it('listens to signals before the program starts, so that none ends this one alone', async () => {
  const own = Object.assign(new EventEmitter(), { stdin: { isTTY: false } })
  const listenersAtStart: number[] = []
  const env = Object.defineProperty({}, 'STARTED', {
    enumerable: true,
    // Read when the program is about to start.
    get() {
      listenersAtStart.push(own.listenerCount('SIGTERM'))
      return '1'
    },
  })

  const end = await createRunProgram(own as NodeJS.Process)(['true'], env)

  expect(end).toEqual({ kind: 'exited', code: 0 })
  expect(listenersAtStart).toEqual([1])
  expect(own.listenerCount('SIGTERM')).toBe(0)
})

import { EventEmitter } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import type { StartWorker } from '../../../../server/src/platform/start-worker.ts'
import { startInProcess } from '../../in-process-worker.ts'
import { openOwner } from '../../owner.ts'
import { openTestServer } from '../../test-server.ts'

it('an invalid replay is refused while others run and wait', async () => {
  const started = Promise.withResolvers<void>()
  const ends: (() => void)[] = []
  const startWorker: StartWorker = (name, options) => {
    if (name !== 'replay-worker') return startInProcess(name, options)
    const worker = new EventEmitter()
    ends.push(() => worker.emit('message', { id: 1, value: '{}' }))
    started.resolve()
    const terminate = () => Promise.resolve(0)
    return Object.assign(worker, { postMessage() {}, ref() {}, unref() {}, terminate })
  }
  const test = await openTestServer(onTestFinished, { startWorker })
  const owner = await openOwner(test)
  const replay = (payload: object, by = owner) =>
    test.send('POST', `/api/v1/orgs/${by.org}/replay`, { as: by.as, payload })
  const running = replay({ policies: [] })
  await started.promise
  const waiting = replay({ policies: [] })

  expect((await replay({})).statusCode).toBe(400)
  expect((await replay({ policies: [], days: 0 })).statusCode).toBe(400)
  expect(ends).toHaveLength(1)

  ends[0]?.()
  expect((await running).statusCode).toBe(200)
  await expect.poll(() => ends.length).toBe(2)
  ends[1]?.()
  expect((await waiting).statusCode).toBe(200)
})

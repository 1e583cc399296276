import Fastify from 'fastify'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { createErrorHandler } from '../../../../server/src/http/errors/send-error.ts'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import { captureLog } from '../../operations/log/log-lines.ts'

/** Its body is read before the answer: Node does not count a caller who leaves then as aborted. */
const REQUEST =
  'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'

/** An app whose answer is `lines`, and the log of its errors. */
async function open(lines: Readable) {
  const log = captureLog()
  const app = Fastify({ logger: false })
  onTestFinished(() => app.close())
  app.setErrorHandler(createErrorHandler(createLog({ level: 'info', stream: log.stream }), {}))
  app.post('/', (_request, reply) => reply.send(lines))
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, log }
}

it('logs no error for a caller who leaves before the first line of an answer', async () => {
  const lines = new Readable({ read: () => undefined })
  const { app, log } = await open(lines)
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  client.write(REQUEST)
  await expect.poll(() => lines.listenerCount('data')).toBe(1)

  client.destroy()
  await once(lines, 'close')
  await new Promise(setImmediate)

  expect(log.text()).toBe('')
})

it('logs the error of an answer that cannot be made', async () => {
  const lines = new Readable({ read: () => void lines.destroy() })
  const { app, log } = await open(lines)

  expect((await app.inject({ method: 'POST', url: '/', payload: {} })).statusCode).toBe(500)
  expect(log.text()).toContain('"level":50')
})

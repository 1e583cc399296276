import { connect, type AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openGovernedApp } from './governed-app.ts'

/** Sends `count` requests at once on one connection, which closes after the last answer. */
async function pipeline(count: number): Promise<{ answers: number; served: number }> {
  let served = 0
  const governed = await openGovernedApp({
    routes: [
      async (app) => {
        app.get('/answer', async () => {
          served += 1
          return { number: served }
        })
      },
    ],
  })
  onTestFinished(() => governed.close())
  await governed.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = governed.app.server.address() as AddressInfo
  const request = (connection: string) =>
    `GET /answer HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n\r\n`

  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => (received += String(chunk)))
  socket.on('error', () => undefined)
  socket.write(request('keep-alive').repeat(count - 1) + request('close'))
  await new Promise((resolve) => socket.on('close', resolve))

  return { answers: received.split('HTTP/1.1 200 OK').length - 1, served }
}

it('answers pipelined requests', async () => {
  expect(await pipeline(16)).toEqual({ answers: 16, served: 16 })
})

it('closes a connection with too many pipelined requests', async () => {
  const { served } = await pipeline(1_000)

  expect(served).toBeLessThanOrEqual(16)
})

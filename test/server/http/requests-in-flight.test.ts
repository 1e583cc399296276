import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { openGovernedApp, type GovernedAppOptions } from './governed-app.ts'

/** Concurrent requests of one credential. */
const MAX_IN_FLIGHT = 16

/** A server with a route that records its credentials and answers on demand. */
async function openHeldRoute() {
  let arrived = 0
  const asked: string[] = []
  const released = Promise.withResolvers<void>()
  const callerOf = ({ params }: FastifyRequest): string => (params as { readonly as: string }).as
  const route: NonNullable<GovernedAppOptions['routes']>[number] = async (app) => {
    const onRequest = async (request: FastifyRequest) => {
      request.credential = callerOf(request)
    }
    app.get('/held/:as', { onRequest }, async (request) => {
      asked.push(callerOf(request))
      await released.promise
      return {}
    })
  }
  const governed = await openGovernedApp({ routes: [route] })
  onTestFinished(() => {
    released.resolve()
    return governed.close()
  })
  governed.app.server.prependListener('request', () => (arrived += 1))
  await governed.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = governed.app.server.address() as AddressInfo
  async function ask(as: string) {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(`GET /held/${as} HTTP/1.1\r\nHost: x\r\n\r\n`)
    return socket
  }
  const count = (as: string) => asked.filter((each) => each === as).length
  /** Resolves when the route would have been asked for everything that has been sent. */
  async function settle(sent: number): Promise<void> {
    await expect.poll(() => arrived).toBe(sent)
    await ask('user:last')
    await expect.poll(() => count('user:last')).toBe(1)
  }
  return { ask, count, settle, release: () => released.resolve() }
}

it('handles at most sixteen requests of a credential at a time over all connections', async () => {
  const { ask, count, settle, release } = await openHeldRoute()

  for (let sent = 0; sent < 2 * MAX_IN_FLIGHT; sent += 1) await ask('user:ed')
  await ask('user:olga')
  await expect.poll(() => count('user:olga')).toBe(1)
  await settle(2 * MAX_IN_FLIGHT + 1)
  expect(count('user:ed')).toBe(MAX_IN_FLIGHT)

  release()
  await expect.poll(() => count('user:ed')).toBe(2 * MAX_IN_FLIGHT)
})

it('starts the next request when a client leaves before its answer', async () => {
  const { ask, count, settle, release } = await openHeldRoute()
  const sockets = []
  for (let sent = 0; sent < MAX_IN_FLIGHT + 2; sent += 1) sockets.push(await ask('user:ed'))
  await expect.poll(() => count('user:ed')).toBe(MAX_IN_FLIGHT)

  sockets[0]?.destroy()

  await expect.poll(() => count('user:ed')).toBe(MAX_IN_FLIGHT + 1)
  await settle(MAX_IN_FLIGHT + 2)
  expect(count('user:ed')).toBe(MAX_IN_FLIGHT + 1)
  release()
})

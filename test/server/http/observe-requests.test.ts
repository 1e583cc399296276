import { decodeJwt } from 'jose'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { captureLog } from '../operations/log/log-lines.ts'
import { openGovernedApp } from './governed-app.ts'

const POLICIES = '/v2/orgs/acme/governance/policies'

async function open(options: Parameters<typeof openGovernedApp>[0] = {}) {
  const log = captureLog()
  const governed = await openGovernedApp({ ...options, log: log.stream })
  onTestFinished(() => governed.close())
  return { ...governed, log }
}

describe('a request', () => {
  it('is one line with its route, its status, who asked and from where', async () => {
    const { send, log } = await open()

    const response = await send({
      method: 'POST',
      url: POLICIES,
      payload: { name: 'web' },
      remoteAddress: '192.0.2.7',
    })

    expect(log.requests()).toEqual([
      expect.objectContaining({
        level: 30,
        msg: 'request',
        request_id: response.headers['x-request-id'],
        method: 'POST',
        route: '/v2/orgs/:org/governance/policies',
        status: 201,
        duration_ms: expect.any(Number),
        actor: 'user:olga',
        address: '192.0.2.7',
      }),
    ])
  })

  it('leaves nothing of its path, query, headers or body in the log', async () => {
    const { send, log } = await open()

    await send({
      method: 'POST',
      url: '/v2/orgs/in-the-path/governance/policies?q=in-the-query',
      headers: { 'x-anything': 'in-a-header', cookie: 'in-a-cookie' },
      payload: { name: 'in-the-body' },
    })
    await send({ as: null, url: '/in-the-path' })

    expect(log.requests().map(({ route }) => route)).toEqual([
      '/v2/orgs/:org/governance/policies',
      null,
    ])
    expect(log.text()).not.toMatch(/in-(the|a)-/)
  })

  it('names the token that its session came from, and none for a password', async () => {
    const { app, log, send, tokenFor } = await open()
    const authorization = `Bearer ${await tokenFor('olga', ['policies:read'])}`
    const { tid } = decodeJwt(authorization)

    await app.inject({ url: POLICIES, headers: { authorization } })
    await send({ url: POLICIES })

    const [byToken, byPassword] = log.requests()
    expect(byToken).toMatchObject({ actor: 'user:olga', token_id: tid })
    expect(tid).toMatch(/^[0-9a-f-]{36}$/)
    expect(byPassword).not.toHaveProperty('token_id')
  })

  it('has nobody as its actor until somebody was admitted', async () => {
    const { send, log } = await open()

    await send({ as: null, url: POLICIES })

    expect(log.requests()).toEqual([expect.objectContaining({ status: 401, actor: null })])
  })

  it('that a probe or a device sends over and over is not logged unless it is refused', async () => {
    const { send, log } = await open()

    await send({ as: null, url: '/healthz' })
    await send({ as: null, url: '/readyz' })
    await send({ as: null, method: 'POST', url: '/readyz' })

    expect(log.requests().map(({ status }) => status)).toEqual([405])
  })

  it('that breaks is logged with its stack and id, and without the secrets its error quotes', async () => {
    const { send, log } = await open({
      routes: [
        async (app) => {
          app.get('/broken', async () => {
            throw new Error('no luck with pal_pat_0123456789abcdefghij')
          })
        },
      ],
    })

    const response = await send({ as: null, url: '/broken' })

    const failure = log.lines().find(({ msg }) => msg === 'request failed')
    expect(failure).toMatchObject({
      level: 50,
      request_id: response.headers['x-request-id'],
      err: { message: 'no luck with [concealed]', stack: expect.stringContaining('at ') },
    })
    expect(log.requests()).toEqual([expect.objectContaining({ status: 500, route: '/broken' })])
  })
})

describe('a connection', () => {
  async function listen() {
    const opened = await open({
      routes: [
        async (app) => {
          app.get('/never', () => new Promise(() => undefined))
        },
      ],
    })
    await opened.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = opened.app.server.address() as AddressInfo
    return { ...opened, socket: connect(port, '127.0.0.1') }
  }

  it('that sends no HTTP is one line without what it sent', async () => {
    const { socket, log } = await listen()

    socket.write('in-the-noise\r\n\r\n')
    socket.resume()
    await once(socket, 'close')

    expect(log.requests()).toEqual([
      expect.objectContaining({ status: 400, route: null, address: '127.0.0.1' }),
    ])
    expect(log.text()).not.toContain('in-the-noise')
  })

  it('that ends before the answer is one line that says so', async () => {
    const { app, socket, log } = await listen()
    const arrived = once(app.server, 'request')
    socket.write('GET /never HTTP/1.1\r\nHost: x\r\n\r\n')
    await arrived

    socket.destroy()

    await expect
      .poll(() => log.requests())
      .toEqual([expect.objectContaining({ route: '/never', aborted: true, address: '127.0.0.1' })])
  })
})

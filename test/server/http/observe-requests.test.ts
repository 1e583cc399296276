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
  it('is one line with route, status, actor and address', async () => {
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

  it('leaves no part of its path, query, headers or body in the log', async () => {
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

  it('logs the token of its session, but none for a password', async () => {
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

  it('has a null actor before authentication', async () => {
    const { send, log } = await open()

    await send({ as: null, url: POLICIES })

    expect(log.requests()).toEqual([expect.objectContaining({ status: 401, actor: null })])
  })

  it('is logged only when refused if probes or devices send it frequently', async () => {
    const { send, log } = await open()

    await send({ as: null, url: '/healthz' })
    await send({ as: null, url: '/readyz' })
    await send({ as: null, method: 'POST', url: '/readyz' })

    expect(log.requests().map(({ status }) => status)).toEqual([405])
  })

  it('is logged with stack and id when it fails, without the secrets in its error', async () => {
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

  it('is one line without the received bytes when it does not speak HTTP', async () => {
    const { socket, log } = await listen()

    socket.write('in-the-noise\r\n\r\n')
    socket.resume()
    await once(socket, 'close')

    expect(log.requests()).toEqual([
      expect.objectContaining({ status: 400, route: null, address: '127.0.0.1' }),
    ])
    expect(log.text()).not.toContain('in-the-noise')
  })

  it('is one line marked as aborted when it closes before the answer', async () => {
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

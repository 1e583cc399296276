import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../server/operations/tls/make-certificate.ts'
import { bundleOf } from '../../fixture/bundle.ts'
import { AUTHORIZATION, startParent } from '../../fixture/parent-proxy.ts'
import {
  connectTo,
  exchangeRaw,
  get,
  openRaw,
  readAll,
  readUntil,
  startOrigin,
  startProxy,
  startTcpServer,
  type ProxyScene,
} from '../../fixture/proxy.ts'

const authority = makeCertificate({ name: 'corporate' })
const certificate = makeCertificate({ name: 'proxy', authority })

async function startWith(ca: string | null, host = '127.0.0.1') {
  const parent = await startParent({
    certificate,
    needsCredentials: true,
    names: { '10.0.0.7': '127.0.0.1' },
  })
  const proxy: ProxyScene = await startProxy(
    bundleOf(['allow', 'connect:tcp', '*.a.test']),
    { 'x.a.test': ['10.0.0.7'], 'proxy.test': ['127.0.0.1'] },
    100,
    { parent: { ...parent, host, scheme: 'https', ca, authorization: AUTHORIZATION } },
  )
  return { parent, proxy }
}

describe('a parent proxy with TLS', () => {
  it.each(['127.0.0.1', 'localhost'])('carries tunnels as %s', async (host) => {
    const { parent, proxy } = await startWith(authority.cert, host)
    const echo = await startTcpServer((socket) => socket.pipe(socket))
    const socket = await openRaw(proxy.port, `${connectTo(`x.a.test:${echo}`)}early`)

    expect(await readUntil(socket, 'early')).toMatch(/^HTTP\/1\.1 200 [^]*early$/)
    expect(parent.authorizations).toEqual([AUTHORIZATION])
    expect(proxy.parent?.status().url).toBe(`https://${host}:${parent.port}`)
  })

  it('carries absolute-form requests with a body', async () => {
    const { proxy } = await startWith(authority.cert)
    const origin = await startOrigin()
    const body = 'x'.repeat(200_000)

    const answer = await exchangeRaw(
      proxy.port,
      `POST http://x.a.test:${origin.port}/up HTTP/1.1\r\nHost: x.a.test:${origin.port}\r\n` +
        `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )

    expect(answer).toMatchObject({ status: 200, body: '127.0.0.1 /up' })
    expect(origin.requests[0]?.body).toBe(body)
  })

  it('lets a client end its side and still wait for the whole answer', async () => {
    const size = 8_000_000
    const target = await startTcpServer((socket) => {
      socket.resume()
      socket.on('end', () => socket.end('x'.repeat(size)))
    })
    const { proxy } = await startWith(authority.cert)
    const socket = await openRaw(proxy.port, connectTo(`x.a.test:${target}`))
    await readUntil(socket, '\r\n\r\n')
    socket.end('hello')

    let received = 0
    for await (const text of socket as AsyncIterable<string>) {
      received += text.length
      await sleep(1)
    }

    expect(received).toBe(size)
    await expect.poll(() => proxy.live.size()).toBe(0)
  })

  it('is disconnected when a new policy denies the tunnel', async () => {
    const closed = Promise.withResolvers<void>()
    const target = await startTcpServer((socket) => {
      socket.resume()
      socket.once('close', () => closed.resolve())
      socket.on('end', () => socket.end())
    })
    const { proxy } = await startWith(authority.cert)
    const socket = await openRaw(proxy.port, connectTo(`x.a.test:${target}`))
    await readUntil(socket, '\r\n\r\n')

    proxy.use({ ...bundleOf(), revision: 8 })

    expect(await readAll(socket)).toBe('')
    await closed.promise
  })

  it.each<[string, string | null, string, RegExp]>([
    ['of an unknown authority', null, '127.0.0.1', /TLS with the parent proxy failed \([A-Z_]+\)/],
    ['of another authority', makeCertificate({ name: 'other' }).cert, '127.0.0.1', /TLS with/],
    ['for another name', authority.cert, 'proxy.test', /ERR_TLS_CERT_ALTNAME_INVALID/],
  ])('gets no request with a certificate %s', async (_what, ca, host, reason) => {
    const { parent, proxy } = await startWith(ca, host)

    for (const text of [connectTo('x.a.test:443'), get('x.a.test:80')]) {
      const answer = await exchangeRaw(proxy.port, text)
      expect(answer.status).toBe(502)
      expect(answer.head).toMatch(reason)
    }

    expect(parent.asked).toEqual([])
    expect(new Set(proxy.dialled)).toEqual(new Set([`127.0.0.1:${parent.port}`]))
    expect(proxy.parent?.status().last_error).toMatchObject({ code: 'tls_failed' })
  })

  it('is verified even where the environment turns verification off', async () => {
    const { env } = process
    const former = env['NODE_TLS_REJECT_UNAUTHORIZED']
    env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const { parent, proxy } = await startWith(null)
      expect((await exchangeRaw(proxy.port, connectTo('x.a.test:443'))).status).toBe(502)
      expect(parent.asked).toEqual([])
    } finally {
      if (former === undefined) delete env['NODE_TLS_REJECT_UNAUTHORIZED']
      else env['NODE_TLS_REJECT_UNAUTHORIZED'] = former
    }
  })

  it('that never answers the handshake is given up in time', async () => {
    const port = await startTcpServer((socket) => socket.resume())
    const proxy = await startProxy(
      bundleOf(['allow', 'connect:tcp', '*.a.test']),
      { 'x.a.test': ['10.0.0.7'] },
      100,
      {
        parent: { host: '127.0.0.1', port, scheme: 'https', ca: authority.cert },
        parentTimeoutMs: 200,
      },
    )

    const answer = await exchangeRaw(proxy.port, connectTo('x.a.test:443'))

    expect(answer.head).toContain('502 Palisade: TLS with the parent proxy failed')
    expect(proxy.dialled).toHaveLength(1)
  })
})

import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createDial } from '../../../agent/src/proxy/target/dial.ts'
import { createProxyAddress } from '../../../agent/src/proxy/proxy-address.ts'
import { createProxy } from '../../../agent/src/proxy/proxy.ts'
import { createLiveConnections } from '../../../agent/src/proxy/admission/live-connections.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleOf, type RuleLine } from '../fixture/bundle.ts'
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
} from '../fixture/proxy.ts'

const local: RuleLine = ['allow', 'connect:tcp', '127.0.0.1', '127.0.0.2']

describe('an absolute-form request', () => {
  it('reaches the origin when the target is allowed', async () => {
    const origin = await startOrigin()
    const { port, decisions } = await startProxy(bundleOf(local))

    const answer = await exchangeRaw(port, get(`127.0.0.1:${origin.port}`, '/x?y=1'))

    expect(answer).toMatchObject({ status: 200, body: '127.0.0.1 /x?y=1' })
    expect(answer.head).toContain('Palisade-Decision: allow; reason=rule')
    expect(answer.head).not.toContain('forged')
    expect(answer.head).not.toContain('X-Hop')
    expect(decisions).toMatchObject([{ decision: 'allow' }])
  })

  it('is answered 403 with the decision when it is denied', async () => {
    const origin = await startOrigin()
    const { port } = await startProxy(bundleOf(['deny', 'connect:tcp', '127.0.0.1'], local))

    const answer = await exchangeRaw(port, get(`127.0.0.1:${origin.port}`))

    expect(answer.status).toBe(403)
    expect(answer.head).toContain('Content-Type: application/json')
    expect(answer.head).toContain('Palisade-Decision: deny; reason=rule')
    expect(JSON.parse(answer.body)).toMatchObject({
      decision: 'deny',
      reason: 'rule',
      rules: [{ rule_id: 'rule_1' }],
      request: { action: 'connect:tcp', host: '127.0.0.1', port: origin.port },
      revision: 7,
    })
    expect(origin.requests).toHaveLength(0)
  })

  it('carries a body of either framing to the origin', async () => {
    const origin = await startOrigin()
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin.port}`
    const head = `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n`

    await exchangeRaw(port, `${head}Content-Length: 5\r\n\r\nhello`)
    await exchangeRaw(port, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)
    await exchangeRaw(port, `${head}\r\n`)
    await exchangeRaw(port, `${head}Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello`)

    expect(origin.requests.map(({ body }) => body)).toEqual(['hello', 'hello', '', 'hello'])
    expect(origin.requests[2]?.headers['content-length']).toBe('0')
  })

  it('is forwarded without the fields meant for the proxy', async () => {
    const origin = await startOrigin()
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin.port}`
    const extra = [
      'Connection: X-Secret, content-length',
      'X-Secret: 1',
      'Proxy-Authorization: Basic eDp5',
      'Proxy-Connection: keep-alive',
      'Keep-Alive: 5',
      'TE: trailers',
      'Upgrade: h2c',
      'HTTP2-Settings: AAA',
      'X-Kept: 1',
      '',
    ].join('\r\n')

    await exchangeRaw(port, get(authority, '/', extra))

    expect(origin.requests[0]?.rawHeaders).toEqual([
      'Host',
      authority,
      'X-Kept',
      '1',
      'Via',
      '1.1 palisade',
      'Connection',
      'close',
    ])
  })

  it('is decided separately on a kept connection', async () => {
    const origin = await startOrigin()
    const { port } = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
    const authority = `127.0.0.1:${origin.port}`
    const socket = await openRaw(
      port,
      `GET http://${authority}/one HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
    )
    await readUntil(socket, '/one')

    socket.write(get(`127.0.0.2:${origin.port}`, '/two'))

    expect(await readUntil(socket, '"hint"')).toContain('HTTP/1.1 403 ')
    expect(origin.requests).toHaveLength(1)
  })

  const at = (line: string, ...headers: string[]): string =>
    [`${line} HTTP/1.1`, ...headers, '', ''].join('\r\n')

  it.each([
    ['origin form', at('GET /', 'Host: a.test')],
    ['https', at('GET https://a.test/', 'Host: a.test')],
    ['ftp', at('GET ftp://a.test/', 'Host: a.test')],
    ['asterisk form', at('OPTIONS *', 'Host: a.test')],
    ['a fragment', at('GET http://a.test/#x', 'Host: a.test')],
    ['a user part', at('GET http://a.test@b.test/', 'Host: b.test')],
    ['a user and password', at('GET http://a:b@b.test/', 'Host: b.test')],
    ['no host', at('GET http:///x', 'Host: ')],
    ['an empty port', at('GET http://a.test:/', 'Host: a.test')],
    ['port 0', at('GET http://a.test:0/', 'Host: a.test:0')],
    ['a port with a leading zero', at('GET http://a.test:080/', 'Host: a.test:080')],
    ['a port beyond the range', at('GET http://a.test:65536/', 'Host: a.test:65536')],
    ['a signed port', at('GET http://a.test:+80/', 'Host: a.test:+80')],
    ['IPv6 without brackets', at('GET http://::1/', 'Host: ::1')],
    ['a zone id', at('GET http://[fe80::1%25eth0]/', 'Host: [fe80::1%25eth0]')],
    ['a bracketed name', at('GET http://[a.test]/', 'Host: [a.test]')],
    ['a bracketed IPv4 address', at('GET http://[127.0.0.1]/', 'Host: [127.0.0.1]')],
    ['a percent-encoded host', at('GET http://a%2etest/', 'Host: a%2etest')],
    ['a backslash', at('GET http://a.test\\@b.test/', 'Host: a.test')],
    ['an empty A-label', at('GET http://xn--.a.test/', 'Host: xn--.a.test')],
    ['two dots', at('GET http://a..test/', 'Host: a..test')],
    ['a number that is not an address', at('GET http://1.2.3.4.5/', 'Host: 1.2.3.4.5')],
    ['no Host', at('GET http://a.test/')],
    ['two equal Hosts', at('GET http://a.test/', 'Host: a.test', 'Host: a.test')],
    ['two Hosts', at('GET http://a.test/', 'Host: a.test', 'Host: b.test')],
    [
      'two lengths',
      at('POST http://a.test/', 'Host: a.test', 'Content-Length: 1', 'Content-Length: 2') + 'x',
    ],
    [
      'length and chunks',
      at('POST http://a.test/', 'Host: a.test', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
    ],
    ['an unknown coding', at('POST http://a.test/', 'Host: a.test', 'Transfer-Encoding: xchunked')],
    ['two codings', at('POST http://a.test/', 'Host: a.test', 'Transfer-Encoding: gzip, chunked')],
    [
      'chunked twice',
      at(
        'POST http://a.test/',
        'Host: a.test',
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: chunked',
      ),
    ],
    ['a folded line', at('GET http://a.test/', 'Host: a.test', 'X: 1', ' 2')],
    ['a bare line feed', 'GET http://a.test/ HTTP/1.1\nHost: a.test\n\n'],
    ['a space before the colon', at('GET http://a.test/', 'Host : a.test')],
    ['a NUL', at('GET http://a.test/', 'Host: a.test\0')],
    ['garbage', 'hello\r\n\r\n'],
  ])('with %s is answered 400', async (_what, text) => {
    const { port, resolved, decisions, errors } = await startProxy(
      bundleOf(['allow', 'connect:tcp', '**.test']),
    )

    const answer = await exchangeRaw(port, text)

    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'invalid_argument' })
    expect({ resolved, decisions, errors }).toEqual({ resolved: [], decisions: [], errors: [] })
  })

  it.each([
    ['too many fields', 'X: 1\r\n'.repeat(2_100)],
    ['too many bytes', `X: ${'x'.repeat(66_000)}\r\n`],
  ])('with %s is answered 431', async (_what, extra) => {
    const { port } = await startProxy(bundleOf(local))

    for (const text of [get('127.0.0.1:1', '/', extra), connectTo('127.0.0.1:1', extra)])
      expect((await exchangeRaw(port, text)).status).toBe(431)
  })
})

describe('a body that turns out malformed', () => {
  it('ends the connection on both sides without a second answer', async () => {
    const origin = await startOrigin()
    const { port, live } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin.port}`
    const head =
      `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n` +
      'Transfer-Encoding: chunked\r\n'
    const socket = await openRaw(port, `${head}\r\n5\r\nhello\r\n`)
    await expect.poll(() => origin.requests[0]?.body).toBe('hello')

    socket.write('not-a-length\r\n')

    expect(await readAll(socket)).toBe('')
    await expect.poll(() => live.size()).toBe(0)
    expect(origin.requests[0]?.complete).toBe(false)
  })
})

describe('a request without a body', () => {
  it.each(['GET', 'DELETE', 'POST', 'PROPFIND', 'QUERY'])(
    'with method %s reaches the origin without a transfer coding',
    async (method) => {
      const origin = await startOrigin()
      const { port } = await startProxy(bundleOf(local))

      await exchangeRaw(port, get(`127.0.0.1:${origin.port}`).replace('GET', method))

      expect(origin.requests[0]?.method).toBe(method)
      expect(origin.requests[0]?.headers).not.toHaveProperty('transfer-encoding')
    },
  )
})

describe('a proxy that stops', () => {
  it('does not wait for a tunnel whose name is still being resolved', async () => {
    const asked = Promise.withResolvers<void>()
    const { active, use } = activePolicy()
    use(bundleOf(['allow', 'connect:tcp', '*.a.test']))
    const proxy = createProxy({
      address: createProxyAddress(),
      port: 0,
      decide: active.decide,
      resolve: () => {
        asked.resolve()
        return new Promise(() => {})
      },
      dial: createDial(60_000),
      live: createLiveConnections(active.decide, 10),
      idleMs: 5_000,
      flushTimeoutMs: 60_000,
      maxConnections: 10,
      bodyRate: { bytes: 1, windowMs: 60_000 },
      nearMisses: () => [],
      onEvent: () => {},
      onError: () => {},
    })
    await proxy.start()
    const socket = await openRaw(Number(new URL(proxy.describe()).port), connectTo('x.a.test:443'))
    const closed = once(socket, 'close')
    socket.on('error', () => {})
    socket.resume()
    await asked.promise

    await proxy.stop()

    socket.destroy()
    await closed
  })
})

describe('an origin that misbehaves', () => {
  it('with endless interim answers leads to 502', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\n\r\n'
    const target = await startTcpServer((socket) =>
      socket.once('data', () => socket.write(hint.repeat(20))),
    )
    const { port, live } = await startProxy(bundleOf(local))

    const answer = await exchangeRaw(port, get(`127.0.0.1:${target}`))

    expect(answer.status).toBe(502)
    expect(live.size()).toBe(0)
  })

  it.each([
    ['closes without an answer', ''],
    ['answers with another protocol', 'SSH-2.0-x\r\n'],
    [
      'switches protocols without a request for it',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['switches to no protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    [
      'uses another transfer coding',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    ],
    ['sends two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
  ])('that %s leads to 502', async (_what, text) => {
    const target = await startTcpServer((socket) => socket.once('data', () => socket.end(text)))
    const { port, live, errors } = await startProxy(bundleOf(local))

    const answer = await exchangeRaw(port, get(`127.0.0.1:${target}`))

    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.body)).toMatchObject({ reason: 'bad_answer' })
    expect(live.size()).toBe(0)
    expect(errors).toEqual([])
  })
})

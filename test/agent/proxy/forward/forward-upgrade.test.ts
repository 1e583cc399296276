import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { startParent } from '../../fixture/parent-proxy.ts'
import {
  exchangeRaw,
  get,
  openRaw,
  parseRaw,
  readAll,
  readUntil,
  startOrigin,
  startProxy,
  startTcpServer,
} from '../../fixture/proxy.ts'

const ALLOW: RuleLine = ['allow', 'connect:tcp', '127.0.0.1']
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1')
  .update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
  .digest('base64')
const FIELDS = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${KEY}\r\n`

function handshake(authority: string, fields = FIELDS): string {
  return (
    `GET http://${authority}/chat?x=1 HTTP/1.1\r\nHost: ${authority}\r\n` +
    `${fields}Sec-WebSocket-Version: 13\r\n\r\n`
  )
}

interface Echo {
  readonly port: number
  readonly upgrades: IncomingMessage[]
  readonly requests: IncomingMessage[]
}

/** A server that switches to WebSocket, greets, and sends all bytes back. */
async function startEcho(greeting = ''): Promise<Echo> {
  const upgrades: IncomingMessage[] = []
  const requests: IncomingMessage[] = []
  const sockets = new Set<Duplex>()
  const server = createServer((request, response) => {
    requests.push(request)
    response.end('plain')
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.push(request)
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.on('error', () => socket.destroy())
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\n' +
        'Upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\nPalisade-Decision: forged\r\n\r\n${greeting}`,
    )
    socket.write(head)
    socket.pipe(socket)
  })
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, upgrades, requests }
}

/** A server that answers every request with `text` and keeps the connection open. */
function answering(text: string): Promise<number> {
  return startTcpServer((socket) => socket.once('data', () => void socket.write(text)))
}

describe('an upgrade to WebSocket', () => {
  it('becomes a tunnel to an allowed target', async () => {
    const echo = await startEcho()
    const { port, decisions, ends, errors, live } = await startProxy(bundleOf(ALLOW))

    const socket = await openRaw(port, handshake(`127.0.0.1:${echo.port}`))
    const head = await readUntil(socket, '\r\n\r\n')
    socket.write('ping')
    expect(await readUntil(socket, 'ping')).toBe('ping')
    socket.end()
    await readAll(socket)

    expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    expect(head.match(/^(upgrade|connection|sec-websocket-accept|palisade-.*):.*$/gim)).toEqual([
      `Sec-WebSocket-Accept: ${ACCEPT}`,
      'Palisade-Decision: allow; reason=rule',
      'Upgrade: websocket',
      'Connection: Upgrade',
    ])
    expect(echo.upgrades[0]).toMatchObject({
      url: '/chat?x=1',
      headers: { host: `127.0.0.1:${echo.port}`, 'sec-websocket-version': '13' },
    })
    expect(decisions).toMatchObject([{ decision: 'allow' }])
    await expect
      .poll(() => ends)
      .toMatchObject([
        { protocol: 'http', flow: { bytesSent: 4, bytesReceived: 4, cause: 'closed' } },
      ])
    expect([errors, live.size()]).toEqual([[], 0])
  })

  it('keeps bytes that follow the request, and those of the origin, in order', async () => {
    const echo = await startEcho('hello ')
    const { port } = await startProxy(bundleOf(ALLOW))
    const authority = `127.0.0.1:${echo.port}`

    const socket = await openRaw(port, `${handshake(authority)}${get(authority)}`)

    const received = await readUntil(socket, get(authority))
    expect(parseRaw(received).body).toBe(`hello ${get(authority)}`)
    expect(echo.requests).toEqual([])
  })

  it('keeps every byte of its target', async () => {
    let line = ''
    const origin = await startTcpServer((socket) =>
      socket.once('data', (bytes: Buffer) => {
        line = bytes.toString('latin1').split('\r\n')[0] ?? ''
        socket.end('HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n')
      }),
    )
    const { port } = await startProxy(bundleOf(ALLOW))

    await exchangeRaw(port, handshake(`127.0.0.1:${origin}`).replace('/chat', '/é'))

    expect(line).toBe(`GET ${Buffer.from('/é?x=1').toString('latin1')} HTTP/1.1`)
  })

  it('follows an earlier request on the same connection', async () => {
    const echo = await startEcho()
    const { port } = await startProxy(bundleOf(ALLOW))
    const authority = `127.0.0.1:${echo.port}`
    const first = get(authority).replace('Connection: close\r\n', '')

    const socket = await openRaw(port, `${first}${handshake(authority)}early`)

    expect(await readUntil(socket, 'early')).toMatch(/^HTTP\/1\.1 200 [^]*plain[^]*HTTP\/1\.1 101 /)
  })

  it('is denied like any request to the same target', async () => {
    const echo = await startEcho()
    const { port, decisions, dialled } = await startProxy(bundleOf())

    const answer = await exchangeRaw(port, `${handshake(`127.0.0.1:${echo.port}`)}early`)

    expect(answer.status).toBe(403)
    expect(JSON.parse(answer.body)).toMatchObject({ decision: 'deny' })
    expect(decisions).toMatchObject([{ decision: 'deny' }])
    expect([dialled, echo.upgrades]).toEqual([[], []])
  })

  it('is closed when a new policy denies the target', async () => {
    const echo = await startEcho()
    const { port, use, ends } = await startProxy(bundleOf(ALLOW))
    const socket = await openRaw(port, handshake(`127.0.0.1:${echo.port}`))
    await readUntil(socket, '\r\n\r\n')

    use(bundleOf(['deny', 'connect:tcp', '127.0.0.1']))

    await readAll(socket)
    await expect
      .poll(() => ends)
      .toMatchObject([{ decision: { decision: 'deny' }, flow: { cause: 'revoked' } }])
  })

  it('is closed when a new policy denies the target before the origin answers', async () => {
    let asked = 0
    const silent = await startTcpServer((socket) => socket.on('data', () => (asked += 1)))
    const { port, use, live } = await startProxy(bundleOf(ALLOW))
    const socket = await openRaw(port, handshake(`127.0.0.1:${silent}`))
    await expect.poll(() => asked).toBe(1)

    use(bundleOf(['deny', 'connect:tcp', '127.0.0.1']))

    expect(await readAll(socket)).toBe('')
    await expect.poll(() => live.size()).toBe(0)
  })

  it.each([
    ['200', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine', 'fine'],
    ['400', 'HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbad\r\n0\r\n\r\n', 'bad'],
    ['401', 'HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n', ''],
  ])('passes on an answer of %s, and ends the connection', async (status, text, body) => {
    const origin = await answering(text)
    const { port, errors, live } = await startProxy(bundleOf(ALLOW))
    const authority = `127.0.0.1:${origin}`

    // The request after it must not be read as one.
    const received = await exchangeRaw(port, `${handshake(authority)}${get(authority)}`)

    expect(received).toMatchObject({ status: Number(status), body })
    expect(received.head).toMatch(/\r\nConnection: close$/)
    expect(received.head).not.toMatch(/chunked/)
    await expect.poll(() => live.size()).toBe(0)
    expect(errors).toEqual([])
  })

  it('passes on a part of an answer as such', async () => {
    const origin = await startTcpServer((socket) =>
      socket.once(
        'data',
        () => void socket.end('HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\npart'),
      ),
    )
    const { port, live } = await startProxy(bundleOf(ALLOW))
    const socket = await openRaw(port, handshake(`127.0.0.1:${origin}`))
    const failed = once(socket, 'error')

    socket.resume()

    expect(await failed).toMatchObject([{ code: 'ECONNRESET' }])
    await expect.poll(() => live.size()).toBe(0)
  })

  it.each([
    ['another protocol', 'HTTP/1.1 101 Yes\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'],
    [
      'two protocols',
      'HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['no protocol', 'HTTP/1.1 101 Yes\r\n\r\n'],
    ['noise', 'noise\r\n\r\n'],
    ['an unknown coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx'],
  ])('to %s, chosen by the origin, is a bad answer', async (_title, text) => {
    const origin = await answering(text)
    const { port, errors, live } = await startProxy(bundleOf(ALLOW))

    const received = await exchangeRaw(port, handshake(`127.0.0.1:${origin}`))

    expect(received.status).toBe(502)
    await expect.poll(() => live.size()).toBe(0)
    expect(errors).toEqual([])
  })

  it.each([
    ['h2c', 'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n'],
    ['h2c beside WebSocket', FIELDS.replace('websocket', 'websocket, h2c')],
    ['two fields', `${FIELDS}Upgrade: h2c\r\n`],
    ['no connection option', FIELDS.replace('Connection: Upgrade', 'Connection: close')],
    ['no key', 'Upgrade: websocket\r\nConnection: Upgrade\r\n'],
  ])('with %s is ignored, and the request goes on as HTTP/1.1', async (_title, fields) => {
    const echo = await startEcho()
    const { port } = await startProxy(bundleOf(ALLOW))

    const text = handshake(`127.0.0.1:${echo.port}`, fields)
    const received = await exchangeRaw(port, text, 'plain')

    expect(received.status).toBe(200)
    expect(echo.upgrades).toEqual([])
    expect(echo.requests[0]?.headers).not.toHaveProperty('upgrade')
    expect(echo.requests[0]?.headers).not.toHaveProperty('http2-settings')
  })

  it('with a body, or for another method, is ignored too', async () => {
    const origin = await startOrigin()
    const { port } = await startProxy(bundleOf(ALLOW))
    const authority = `127.0.0.1:${origin.port}`

    const post = handshake(authority).replace('GET', 'POST')
    const body = handshake(authority, `${FIELDS}Content-Length: 4\r\n`)

    for (const text of [post, `${body}body`])
      expect((await exchangeRaw(port, text, '/chat?x=1')).status).toBe(200)
    expect(origin.requests.map((request) => request.body)).toEqual(['', 'body'])
  })

  it('in origin form is malformed', async () => {
    const { port, dialled, decisions } = await startProxy(bundleOf(ALLOW))

    const text = handshake('127.0.0.1:9').replace(/http:\/\/[^/]*/, '')
    const received = await exchangeRaw(port, text)

    expect(received.status).toBe(400)
    expect([dialled, decisions]).toEqual([[], []])
  })

  it('goes through a tunnel of the parent proxy', async () => {
    const echo = await startEcho()
    const parent = await startParent({ names: { 'x.a.test': '127.0.0.1' } })
    const { port } = await startProxy(bundleOf(['allow', 'connect:tcp', 'x.a.test']), {}, 100, {
      parent: { ...parent, resolves: true },
    })

    const socket = await openRaw(port, `${handshake(`x.a.test:${echo.port}`)}early`)

    expect(await readUntil(socket, 'early')).toMatch(/^HTTP\/1\.1 101 /)
    expect([parent.asked, parent.requested]).toEqual([[`x.a.test:${echo.port}`], []])
  })
})

import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { bundleClaims, bundleOf, type RuleLine } from '../../fixture/bundle.ts'
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
} from '../../fixture/proxy.ts'

const local: RuleLine = ['allow', 'connect:tcp', '127.0.0.1', '127.0.0.2']
const named: RuleLine = ['allow', 'connect:tcp', '*.a.test']

describe('CONNECT', () => {
  it('opens a tunnel to an allowed target', async () => {
    const echo = await startTcpServer((socket) => socket.pipe(socket))
    const { port } = await startProxy(bundleOf(local))
    const socket = await openRaw(port, connectTo(`127.0.0.1:${echo}`))
    expect(await readUntil(socket, '\r\n\r\n')).toContain('HTTP/1.1 200 ')

    socket.write('ping')

    expect(await readUntil(socket, 'ping')).toBe('ping')
  })

  it('is answered 403 with the decision when it is denied', async () => {
    const { port } = await startProxy(bundleOf(named))

    const answer = await exchangeRaw(port, connectTo('127.0.0.1:443'))

    expect(answer.status).toBe(403)
    expect(answer.head).toContain('Palisade-Decision: deny; reason=protected_address')
    expect(JSON.parse(answer.body)).toMatchObject({ decision: 'deny', request: { port: 443 } })
  })

  it('keeps early bytes of the client in order', async () => {
    let seen = ''
    const target = await startTcpServer((socket) => {
      socket.setEncoding('utf8')
      socket.on('data', (text: string) => (seen += text))
    })
    const { port } = await startProxy(bundleOf(local))

    const socket = await openRaw(port, `${connectTo(`127.0.0.1:${target}`)}early`)
    socket.write('-later-')

    await expect.poll(() => seen).toBe('early-later-')
  })

  it('carries the end of a client that ends its side at once', async () => {
    for (const early of ['', 'early']) {
      let seen = ''
      const target = await startTcpServer((socket) => {
        socket.on('data', (bytes: Buffer) => (seen += bytes.toString()))
        socket.on('end', () => socket.end('bye'))
      })
      const { port } = await startProxy(bundleOf(local))
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8')
      socket.end(`${connectTo(`127.0.0.1:${target}`)}${early}`)

      expect(await readUntil(socket, 'bye')).toMatch(/bye$/)
      expect(seen).toBe(early)
    }
  })

  it('lets a client end its side and still wait for the answer', async () => {
    const target = await startTcpServer((socket) => {
      socket.resume()
      socket.on('end', () => socket.end('goodbye'))
    })
    const { port } = await startProxy(bundleOf(local))
    const socket = await openRaw(port, connectTo(`127.0.0.1:${target}`))
    await readUntil(socket, '\r\n\r\n')

    socket.end('hello')

    expect(await readUntil(socket, 'goodbye')).toBe('goodbye')
  })

  it('delivers all bytes to a slow client after the other side has closed', async () => {
    // More than the kernel buffers: the proxy has to wait for the client.
    const size = 24_000_000
    const target = await startTcpServer((socket) => {
      socket.resume()
      socket.on('end', () => socket.end('x'.repeat(size)))
    })
    const { port } = await startProxy(bundleOf(local))
    const socket = await openRaw(port, connectTo(`127.0.0.1:${target}`))
    await readUntil(socket, '\r\n\r\n')
    socket.end()

    let received = 0
    for await (const text of socket as AsyncIterable<string>) {
      received += text.length
      await sleep(1)
    }

    expect(received).toBe(size)
  })

  it('frees its slot when both sides have ended', async () => {
    const target = await startTcpServer((socket) => socket.end('bye'))
    const { port, live } = await startProxy(bundleOf(local))
    const socket = await openRaw(port, connectTo(`127.0.0.1:${target}`))
    await readUntil(socket, 'bye')
    expect(live.size()).toBe(1)

    socket.end()

    await expect.poll(() => live.size()).toBe(0)
  })

  it.each([
    ['no port', 'CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a padded port', connectTo('a.test:0443')],
    ['a user part', connectTo('a.test:443@b.test:443')],
    ['a path', connectTo('a.test:443/x')],
    ['a URL', connectTo('http://a.test:443')],
    ['IPv6 without brackets', connectTo('::1:443')],
    ['two Hosts', connectTo('a.test:443', 'Host: b.test\r\n')],
    ['a body', connectTo('a.test:443', 'Content-Length: 4\r\n')],
    ['chunks', connectTo('a.test:443', 'Transfer-Encoding: chunked\r\n')],
  ])('with %s is answered 400', async (_what, text) => {
    const { port, resolved, errors } = await startProxy(
      bundleOf(['allow', 'connect:tcp', '**.test']),
    )

    const answer = await exchangeRaw(port, text)

    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'invalid_argument' })
    expect({ resolved, errors }).toEqual({ resolved: [], errors: [] })
  })

  it('does not begin while an earlier request of the connection is being answered', async () => {
    let tunnels = 0
    const silent = await startTcpServer(() => {})
    const target = await startTcpServer(() => (tunnels += 1))
    const { port } = await startProxy(bundleOf(local), {}, 100, { idleMs: 300 })
    const authority = `127.0.0.1:${silent}`
    const pipelined = `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`

    const answer = await exchangeRaw(port, pipelined + connectTo(`127.0.0.1:${target}`))

    expect(answer.status).toBe(0)
    expect(tunnels).toBe(0)
  })

  it('begins after the request before it is answered, with the bytes that follow it', async () => {
    const origin = await startOrigin()
    const echo = await startTcpServer((socket) => socket.pipe(socket))
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin.port}`
    const pipelined = `GET http://${authority}/one HTTP/1.1\r\nHost: ${authority}\r\n\r\n`

    const client = await openRaw(port, `${pipelined}${connectTo(`127.0.0.1:${echo}`)}early`)
    const text = await readUntil(client, 'early')

    expect(text).toMatch(
      /^HTTP\/1\.1 200 OK[^]*\/one[^]*HTTP\/1\.1 200 Connection[^]*\r\n\r\nearly$/,
    )
  })

  it('is refused beyond the connection limit', async () => {
    const target = await startTcpServer(() => {})
    const { port } = await startProxy(bundleOf(local), {}, 1)
    await readUntil(await openRaw(port, connectTo(`127.0.0.1:${target}`)), '200')

    const answer = await exchangeRaw(port, connectTo(`127.0.0.1:${target}`))

    expect(answer.status).toBe(429)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'limit_exceeded' })
  })
})

describe('a change of policy', () => {
  it('closes a live tunnel that is now denied, and no other', async () => {
    const echo = await startTcpServer((socket) => socket.pipe(socket))
    const other = await startTcpServer((socket) => socket.pipe(socket), '127.0.0.2')
    const { port, use, live } = await startProxy(bundleOf(local))
    const doomed = await openRaw(port, connectTo(`127.0.0.1:${echo}`))
    const spared = await openRaw(port, connectTo(`127.0.0.2:${other}`))
    await Promise.all([readUntil(doomed, '200'), readUntil(spared, '200')])
    const closed = new Promise((resolve) => doomed.once('close', resolve))

    use({ ...bundleOf(local, ['deny', 'connect:tcp', '127.0.0.1']), revision: 8 })

    doomed.on('end', () => doomed.end())
    await closed
    spared.write('still here')
    expect(await readUntil(spared, 'here')).toContain('still here')
    expect(live.size()).toBe(1)
  })

  it('interrupts a download that is now denied', async () => {
    const target = await startTcpServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nstart')
    })
    const { port, use, live } = await startProxy(bundleOf(local))
    const socket = await openRaw(port, get(`127.0.0.1:${target}`))
    await readUntil(socket, 'start')

    use({ ...bundleClaims(), revision: 8 })

    expect(await readAll(socket)).toBe('')
    expect(live.size()).toBe(0)
  })
})

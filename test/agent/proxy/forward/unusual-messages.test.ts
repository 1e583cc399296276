import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import {
  connectTo,
  exchangeRaw,
  get,
  openRaw,
  parseRaw,
  readAll,
  readUntil,
  startProxy,
  startTcpServer,
  type RawAnswer,
} from '../../fixture/proxy.ts'

const local: RuleLine = ['allow', 'connect:tcp', '127.0.0.1']

/** An origin that answers each connection with the same bytes, and keeps what it received. */
async function setUp(
  answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
): Promise<{ port: number; authority: string; received(): string }> {
  let received = ''
  const target = await startTcpServer((socket) =>
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1')
      if (received.includes('\r\n\r\n')) socket.end(Buffer.from(answer, 'latin1'))
    }),
  )
  const { port } = await startProxy(bundleOf(local))
  return { port, authority: `127.0.0.1:${target}`, received: () => received }
}

/** Sends the characters of `text` as bytes. */
async function exchangeBytes(port: number, text: string): Promise<RawAnswer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('latin1')
  onTestFinished(() => void socket.destroy())
  socket.write(text, 'latin1')
  return parseRaw(await readAll(socket))
}

describe('a request as a tunnel would carry it', () => {
  const bytes = Buffer.from('/é?ü=\u{1f600}').toString('latin1')

  it('reaches the origin with every byte of its target', async () => {
    const { port, authority, received } = await setUp()
    const expecting = get(authority, bytes, 'Expect: 100-continue\r\nX-Name: \xe9\r\n')

    expect((await exchangeBytes(port, get(authority, bytes))).status).toBe(200)
    expect((await exchangeBytes(port, expecting)).status).toBe(200)

    expect(received().split(`GET ${bytes} HTTP/1.1\r\n`)).toHaveLength(3)
    expect(received()).toContain('X-Name: \xe9\r\n')
    const tunnel = await openRaw(port, connectTo(authority))
    await readUntil(tunnel, '\r\n\r\n')
    tunnel.write(`GET ${bytes} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, 'latin1')
    expect(await readUntil(tunnel, 'ok')).toContain('200')
  })

  it.each(['PURGE', 'X-PRIVATE', 'LABEL', 'BREW'])(
    'reaches it with the method %s',
    async (method) => {
      const { port, authority, received } = await setUp()

      const answer = await exchangeRaw(port, get(authority).replace('GET', method))

      expect(answer.status).toBe(200)
      expect(received().startsWith(`${method} / HTTP/1.1\r\n`)).toBe(true)
    },
  )

  it.each([20_000, 60_000])('reaches it with a field of %d bytes, in both forms', async (size) => {
    const { port, authority, received } = await setUp()
    const field = `X: ${'x'.repeat(size)}\r\n`

    expect((await exchangeRaw(port, get(authority, '/', field))).status).toBe(200)
    const tunnel = await openRaw(port, connectTo(authority, field))
    await readUntil(tunnel, '\r\n\r\n')
    tunnel.write(`GET / HTTP/1.1\r\nHost: ${authority}\r\n${field}\r\n`)
    expect(await readUntil(tunnel, 'ok')).toContain('200')

    expect(received().split(field)).toHaveLength(3)
  })

  it('reaches it with a thousand fields', async () => {
    const { port, authority } = await setUp()

    expect((await exchangeRaw(port, get(authority, '/', 'X: 1\r\n'.repeat(1_000)))).status).toBe(
      200,
    )
  })

  it.each([
    ['another `Host`', 'HTTP/1.1', 'Host: evil.test\r\n'],
    ['another port in `Host`', 'HTTP/1.1', 'Host: 127.0.0.1\r\n'],
    ['no `Host` in HTTP/1.0', 'HTTP/1.0', ''],
  ])('with %s reaches it with that of its target', async (_what, version, field) => {
    const { port, authority, received } = await setUp()

    const answer = await exchangeRaw(
      port,
      `GET http://${authority}/ ${version}\r\n${field}Connection: close\r\n\r\n`,
    )

    expect(answer.status).toBe(200)
    expect(received().match(/Host: .*/g)).toEqual([`Host: ${authority}`])
  })

  it('asks the server itself for its options where it has no path', async () => {
    const { port, authority, received } = await setUp()

    await exchangeRaw(port, get(authority, '').replace('GET', 'OPTIONS'))
    await exchangeRaw(port, get(authority, '/').replace('GET', 'OPTIONS'))

    expect(received().match(/OPTIONS .*/g)).toEqual(['OPTIONS * HTTP/1.1', 'OPTIONS / HTTP/1.1'])
  })

  it('is read although it comes byte by byte', async () => {
    const { port, authority, received } = await setUp()
    const socket = await openRaw(port, '')
    for (const byte of get(authority, bytes)) {
      socket.write(byte, 'latin1')
      await new Promise((resolve) => setImmediate(resolve))
    }

    expect(await readUntil(socket, 'ok')).toContain('200')
    expect(received()).toContain(`GET ${bytes} HTTP/1.1\r\n`)
  })
})

describe('an answer that a proxy has to mend', () => {
  it.each([
    ['a folded field', 'X-Long: a\r\n  b\r\nContent-Length: 2\r\n\r\nok', 'X-Long: a b'],
    ['equal lengths', 'Content-Length: 2\r\nContent-Length: 2\r\n\r\nok', 'Content-Length: 2'],
    ['a list of equal lengths', 'Content-Length: 2, 2\r\n\r\nok', 'Content-Length: 2'],
    [
      'a length beside chunks',
      'Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked',
    ],
    ['a field of 60,000 bytes', `X: ${'x'.repeat(60_000)}\r\nContent-Length: 2\r\n\r\nok`, 'x'],
  ])('for %s arrives', async (_what, text, field) => {
    const { port, authority } = await setUp(`HTTP/1.1 200 OK\r\n${text}`)

    const answer = await exchangeRaw(port, get(authority))

    expect(answer.status).toBe(200)
    expect(answer.head).toContain(field)
    expect(answer.head.match(/content-length|transfer-encoding/gi)).toHaveLength(1)
    expect(answer.body).toContain('ok')
  })

  it('arrives after interim ones too, in small parts', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\nContent-Length: 1, 1\r\nLink: <a>\r\n\r\n'
    const answer = 'HTTP/1.1 200 OK\r\nX-Long: a\r\n  b\r\nContent-Length: 2, 2\r\n\r\nok'
    const send = async (socket: Socket): Promise<void> => {
      for (const byte of `${interim}${interim}${answer}`) {
        socket.write(byte)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const target = await startTcpServer((socket) =>
      socket.setNoDelay().once('data', () => void send(socket)),
    )
    const { port } = await startProxy(bundleOf(local))

    const received = await exchangeRaw(port, get(`127.0.0.1:${target}`))

    expect(received).toMatchObject({ status: 200, body: 'ok' })
    expect(received.head).toMatch(/X-Long: a b\r\n/)
  })

  it('keeps the bytes of its fields where its body comes later', async () => {
    const target = await startTcpServer((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nX-Name: \xe9\r\nContent-Length: 2\r\n\r\n', 'latin1')
        setTimeout(() => socket.end('ok'), 50)
      }),
    )
    const { port } = await startProxy(bundleOf(local))

    const answer = await exchangeBytes(port, get(`127.0.0.1:${target}`))

    expect(answer.head).toContain('X-Name: \xe9')
  })
})

describe('a message that is refused', () => {
  it.each([
    ['a folded field', 'X: 1\r\n 2\r\n', /unexpected whitespace after header value/],
    ['a space before the colon', 'X : 1\r\n', /invalid header token/],
    ['two lengths', 'Content-Length: 1\r\nContent-Length: 2\r\n', /duplicate content-length/i],
  ])('names the fault of a request: %s', async (_what, extra, fault) => {
    const { port, authority } = await setUp()

    const { status, body } = await exchangeRaw(port, get(authority, '/', extra))

    expect([status, JSON.parse(body).message]).toEqual([400, expect.stringMatching(fault)])
  })

  it.each([
    ['a folded field', 'X: 1\r\n 2\r\n', /a field is folded/],
    ['a space before the colon', 'X : 1\r\n', /a blank stands before a colon/],
    ['a line feed alone', 'X: 1\nY: 2\r\n', /a line ends with CR or LF alone/],
    ['a control character', 'X: \x01\r\n', /a field has an invalid character/],
  ])('names the fault of a CONNECT: %s', async (_what, extra, fault) => {
    const { port, authority } = await setUp()

    const { status, body } = await exchangeRaw(port, connectTo(authority, extra))

    expect([status, JSON.parse(body).message]).toEqual([400, expect.stringMatching(fault)])
  })

  it.each([
    ['closes', '', /it closed the connection|it failed/],
    [
      'sends two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx',
      /duplicate content-length/i,
    ],
    ['speaks another protocol', 'SSH-2.0-x\r\n', /not valid HTTP\/1\.1: expected HTTP/i],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', /it switched protocols/],
  ])('names the fault of an origin that %s', async (_what, text, fault) => {
    const { port, authority } = await setUp(text)

    const { status, body } = await exchangeRaw(port, get(authority))

    expect([status, JSON.parse(body).message]).toEqual([502, expect.stringMatching(fault)])
  })
})

import { describe, expect, it } from 'vitest'
import { bundleOf } from '../fixture/bundle.ts'
import {
  exchangeRaw,
  get,
  openRaw,
  readUntil,
  startProxy,
  startTcpServer,
} from '../fixture/proxy.ts'

/** An origin that answers every connection with the same bytes, behind the proxy. */
async function setUp(answer: string): Promise<{ port: number; authority: string }> {
  const target = await startTcpServer((socket) => socket.once('data', () => socket.end(answer)))
  const { port } = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
  return { port, authority: `127.0.0.1:${target}` }
}

describe('an answer of the origin', () => {
  it.each([
    ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, 'ok'],
    ['that ends with its connection', 'HTTP/1.1 200 OK\r\n\r\nok', 200, '2\r\nok\r\n0\r\n\r\n'],
    [
      'in chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      200,
      '2\r\nok\r\n0\r\n\r\n',
    ],
    ['without a body', 'HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
    [
      'that confirms an unchanged resource',
      'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n',
      304,
      '',
    ],
    [
      'after an early hint',
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      200,
      'ok',
    ],
  ])('%s arrives unchanged', async (_what, text, status, body) => {
    const { port, authority } = await setUp(text)

    expect(await exchangeRaw(port, get(authority))).toMatchObject({ status, body })
  })

  it('to HEAD keeps its length and has no body', async () => {
    const { port, authority } = await setUp('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n')

    const answer = await exchangeRaw(port, get(authority).replace('GET', 'HEAD'))

    expect(answer).toMatchObject({ status: 200, body: '' })
    expect(answer.head).toContain('Content-Length: 7')
  })

  it('leaves the client connection open for the next request', async () => {
    const { port, authority } = await setUp('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    const request = `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`
    const socket = await openRaw(port, request)
    await readUntil(socket, '\r\n\r\nok')

    socket.write(request)

    expect(await readUntil(socket, '\r\n\r\nok')).toContain('HTTP/1.1 200 OK')
  })

  it('without any of its body yet shows its head', async () => {
    const target = await startTcpServer((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n')),
    )
    const { port } = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
    const socket = await openRaw(port, get(`127.0.0.1:${target}`))

    expect(await readUntil(socket, '\r\n\r\n')).toContain('HTTP/1.1 200 OK')
  })

  it('that breaks off also breaks off for the client', async () => {
    const { port, authority } = await setUp('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')
    const socket = await openRaw(port, get(authority))

    const closed = new Promise((resolve) => socket.once('end', () => resolve('closed')))
    const received = await readUntil(socket, 'half')

    expect(received).toContain('Content-Length: 100')
    expect(await closed).toBe('closed')
  })
})

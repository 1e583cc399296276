import { connect, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { beforeAll, describe, expect, it } from 'vitest'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const LARGEST = '/docs/static/swagger-ui-bundle.js'
const CONNECTIONS = 8
/** The largest number of pipelined requests. */
const AHEAD = 16
const MOST_GROWTH_BYTES = 40 * 2 ** 20
const MOST_WAITING_BYTES = 512 * 2 ** 10

const atEnd = atEndOfTests()
let opened: TestServer
let port: number

beforeAll(async () => {
  opened = await openTestServer(atEnd)
  await opened.server.app.listen({ host: '127.0.0.1', port: 0 })
  port = (opened.server.app.server.address() as AddressInfo).port
})

describe('a document', () => {
  it('is in memory once for any number of clients that do not read the answer', async () => {
    await opened.send('GET', LARGEST)
    const before = process.memoryUsage().arrayBuffers

    const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'))
    for (const socket of sockets)
      socket.write(`GET ${LARGEST} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(AHEAD))
    await Promise.all(sockets.map((socket) => once(socket, 'readable')))
    // These requests run after the pipelined ones.
    for (let turn = 0; turn < 5; turn += 1) await opened.send('GET', '/docs/static/index.css')
    const grown = process.memoryUsage().arrayBuffers - before
    for (const socket of sockets) socket.destroy()

    expect(grown).toBeLessThan(MOST_GROWTH_BYTES)
  })

  it('is written at the pace of its client', async () => {
    const connected = once(opened.server.app.server, 'connection') as Promise<[Socket]>
    const client = connect(port, '127.0.0.1')
    const [socket] = await connected
    client.write(`GET ${LARGEST} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(AHEAD))
    await once(client, 'readable')
    for (let turn = 0; turn < 20; turn += 1) await opened.send('GET', '/docs/static/index.css')
    const waiting = socket.writableLength
    client.destroy()

    expect(waiting).toBeLessThan(MOST_WAITING_BYTES)
  })

  it.each(['/openapi.json', '/docs/yaml', '/docs/json', LARGEST])(
    'answers 304 to a client that has it: %s',
    async (path) => {
      const first = await opened.send('GET', path)
      const etag = String(first.headers['etag'])
      const again = await opened.send('GET', path, { headers: { 'if-none-match': `W/${etag}` } })
      const other = await opened.send('GET', path, { headers: { 'if-none-match': '"other"' } })

      expect(first.headers['content-length']).toBe(String(first.rawPayload.byteLength))
      expect(again.statusCode).toBe(304)
      expect(again.body).toBe('')
      expect(again.headers['etag']).toBe(etag)
      expect(other.rawPayload.equals(first.rawPayload)).toBe(true)
    },
  )

  it('answers HEAD with the same headers and no body', async () => {
    const { date: _get, ...get } = (await opened.send('GET', '/openapi.json')).headers
    const head = await opened.server.app.inject({ method: 'HEAD', url: '/openapi.json' })
    const { date: _head, ...headers } = head.headers

    expect(head.rawPayload.byteLength).toBe(0)
    expect({ ...headers, 'x-request-id': '' }).toEqual({ ...get, 'x-request-id': '' })
  })

  it.each([
    '/docs/static/%69ndex.css',
    '/docs/static//index.css',
    '/docs/static/./index.css',
    '/docs/../openapi.json',
    '/docs/static/x/../index.css',
    '/docs/static/.gitkeep',
    '/docs/static/index.css/',
  ])('is 404 under another spelling of its path: %s', async (path) => {
    expect(await statusOf(path)).toBe(404)
  })

  it('is found by a target in absolute form, and with any query', async () => {
    expect(await statusOf('http://elsewhere.test/docs/static/index.css?a=../b')).toBe(200)
  })
})

/** Sends the target as given: clients would normalize the path. */
async function statusOf(target: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  const [line] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return Number(line.toString().split(' ')[1])
}

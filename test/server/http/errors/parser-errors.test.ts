import { errorEnvelopeSchema } from '@palisade/protocol'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { refuseUnsupported } from '../../../../server/src/http/errors/parser-errors.ts'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import { createMetrics } from '../../../../server/src/operations/metrics/create-metrics.ts'
import { captureLog } from '../../operations/log/log-lines.ts'
import { openGovernedApp, type GovernedApp } from '../governed-app.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
  await governed.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => governed.close())

/** Returns the server's answer to these bytes, until it closes the connection. */
function exchange(bytes: string): Promise<string> {
  const { port } = governed.app.server.address() as AddressInfo
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

it.each([
  ['noise', 400, 'hello\r\n\r\n'],
  ['a broken header', 400, 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n'],
  ['a request without Host', 400, 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
  [
    'a request with two Hosts',
    400,
    'GET /healthz HTTP/1.1\r\nHost: x\r\nhOST: y\r\nConnection: close\r\n\r\n',
  ],
  [
    'a request with one Host twice',
    400,
    'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n',
  ],
  ['two Hosts in HTTP/1.0', 400, 'GET /healthz HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n'],
  [
    'two Hosts on an unknown path',
    400,
    'GET /nowhere HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
  ],
  [
    'two lengths',
    400,
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
  ],
  ['large headers', 431, `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`],
  ['CONNECT', 405, 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['an expectation', 417, 'GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n'],
  ['an unusual method', 405, 'PROPFIND /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  [
    'a target in absolute form',
    405,
    'PUT http://x/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  ],
  ['OPTIONS *', 404, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
])('answers %s with the envelope', async (_title, status, bytes) => {
  const answer = await exchange(bytes)

  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `))
  expect(head.toLowerCase()).toContain('content-type: application/json; charset=utf-8')
  expect(head.toLowerCase()).toContain('x-request-id: req_')
  expect(errorEnvelopeSchema.parse(JSON.parse(body)).error.message).not.toBe('')
})

it('survives a client that resets its connection after CONNECT', async () => {
  const server = createServer()
  const metrics = createMetrics({ version: 'test' }).requests
  const observer = { log: createLog(false), metrics, tracing: null }
  refuseUnsupported(server, () => 'req_1', observer, {})
  const socket = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(new Error('write ECONNRESET')),
  })

  server.emit('connect', {}, socket)

  // `once` would add an error listener, without which the error must not end the process.
  await new Promise((resolve) => socket.on('close', resolve))
  expect(socket.errored).toMatchObject({ message: 'write ECONNRESET' })
})

it.each([
  ['noise', 'hello\r\n\r\n'],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
])('closes the connection of a client that sent %s and never closes', async (_title, bytes) => {
  const { server } = governed.app
  const { port } = server.address() as AddressInfo
  const countConnections = promisify(server.getConnections.bind(server))
  await vi.waitUntil(async () => (await countConnections()) === 0, { timeout: 300_000 })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())

  socket.write(bytes)
  await once(socket.resume(), 'end')

  await vi.waitUntil(async () => (await countConnections()) === 0, { timeout: 300_000 })
})

it('answers TLS clients that it speaks plain HTTP, and logs it once', async () => {
  const log = captureLog()
  const own = await openGovernedApp({ log: log.stream })
  onTestFinished(() => own.close())
  await own.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = own.app.server.address() as AddressInfo

  for (let attempt = 0; attempt < 3; attempt += 1)
    await expect(fetch(`https://127.0.0.1:${port}/healthz`)).rejects.toThrow('fetch failed')
  const answer = await exchange('\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00')

  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).toContain('this port speaks plain http, not https')
  expect(log.lines().filter(({ level }) => level === 40)).toEqual([
    expect.objectContaining({ msg: expect.stringContaining('PALISADE_TLS_CERT') }),
  ])
})

it('serves requests in flight while it closes', async () => {
  const own: GovernedApp = await openGovernedApp({
    routes: [
      async (app) => {
        app.get('/slow', async () => {
          await vi.waitUntil(() => !own.app.server.listening)
          return { done: true }
        })
      },
    ],
  })
  const origin = await own.app.listen({ host: '127.0.0.1', port: 0 })
  const started = new Promise((resolve) => own.app.server.once('request', resolve))
  const pending = fetch(`${origin}/slow`)
  await started

  await own.close()

  expect(await (await pending).json()).toEqual({ done: true })
})

import { fc } from '@fast-check/vitest'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { casesOfRun } from '../../../lanes/run-size.ts'
import { bundleOf } from '../../fixture/bundle.ts'
import { startProxy, startTcpServer } from '../../fixture/proxy.ts'

/** Each character of a text stands for a byte. */
interface Sent {
  /** Of two origins. */
  readonly origin: number
  readonly method: string
  readonly target: string
  readonly body: string
  readonly framing: 'length' | 'chunks'
  /** Bytes before the request. */
  readonly before: string
}

const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS', 'TRACE', 'PURGE', 'BREW', 'X-A']
const REFUSED_METHODS = ['get', 'trace', 'Brew']
const RAW = Buffer.from('/é').toString('latin1')
/** Full of bytes that look like the start or the end of a head. */
const BODY_PARTS = ['x', '\r\n', '\r\n\r\n', `BREW http://HOST${RAW} HTTP/1.1\r\n`, 'HTTP/1.1 ']

const request: fc.Arbitrary<Sent> = fc.record({
  origin: fc.nat({ max: 1 }),
  method: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...METHODS) },
    { weight: 1, arbitrary: fc.constantFrom(...REFUSED_METHODS) },
  ),
  target: fc.constantFrom('/', RAW, '/\xff?\xfe', '/~~', `/${'\xe9'.repeat(700)}`),
  body: fc.array(fc.constantFrom(...BODY_PARTS), { maxLength: 6 }).map((parts) => parts.join('')),
  framing: fc.constantFrom('length', 'chunks'),
  before: fc.oneof(
    { weight: 12, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('\r\n', '\n', 'x') },
  ),
})
const client = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 5 }),
  /** Lengths of the pieces that are sent. */
  cuts: fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(4_000))),
  /** The share of the bytes after which the client ends its side. */
  share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  pauseMs: fc.constantFrom(0, 0, 5, 30),
})

function write({ method, target, body, framing, before }: Sent, host: string, id: string): string {
  const chunks = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`
  const [field, bytes] =
    framing === 'length'
      ? [`Content-Length: ${body.length}`, body]
      : ['Transfer-Encoding: chunked', `${chunks}0\r\n\r\n`]
  const head = `${method} http://${host}${target} HTTP/1.1\r\nHost: ${host}\r\nX-Id: ${id}\r\n`
  return `${before}${head}${field}\r\n\r\n${bytes}`
}

/** The proxy may refuse it with 400. */
function isRefusable({ method, before }: Sent): boolean {
  return REFUSED_METHODS.includes(method) || before !== ''
}

interface Received {
  readonly id: string
  readonly line: string
  readonly origin: number
  /** As far as it came. */
  body: string
  isComplete: boolean
}

/** Reads one request, answers it, and keeps it in `received`. */
function readRequest(socket: Socket, origin: number, received: Received[]): void {
  let bytes = ''
  let request: Received | null = null
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.toString('latin1')
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = bytes.slice(0, end)
    const length = /^content-length: (\d+)$/im.exec(head)?.[1]
    const rest = bytes.slice(end + 4)
    if (request === null) {
      const [line = ''] = head.split('\r\n')
      const id = /^x-id: (.*)$/im.exec(head)?.[1] ?? ''
      request = { id, line, origin, body: '', isComplete: false }
      received.push(request)
    }
    const body = length === undefined ? joinChunks(rest) : rest
    request.body = body
    request.isComplete =
      length === undefined ? rest.endsWith('0\r\n\r\n') : body.length >= Number(length)
    if (request.isComplete) socket.end('HTTP/1.1 204 No Content\r\n\r\n')
  })
}

/** The content of whole chunks. */
function joinChunks(text: string): string {
  const end = text.indexOf('\r\n')
  const size = Number.parseInt(text.slice(0, Math.max(end, 0)), 16)
  if (!(size > 0) || text.length < end + 2 + size) return ''
  return `${text.slice(end + 2, end + 2 + size)}${joinChunks(text.slice(end + 4 + size))}`
}

it('an origin receives the requests that were sent to it, up to one that is refused', async () => {
  const received: Received[] = []
  const sent = new Map<string, Sent>()
  const listen = (origin: number): Promise<number> =>
    startTcpServer((socket) => readRequest(socket, origin, received))
  const hosts = [`127.0.0.1:${await listen(0)}`, `127.0.0.1:${await listen(1)}`]
  const { port, errors, live } = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
  let run = 0

  await fc.assert(
    fc.asyncProperty(client, async ({ requests, cuts, share, pauseMs }) => {
      run += 1
      const texts = requests.map((each, index) => {
        sent.set(`${run}-${index}`, each)
        return write(each, hosts[each.origin] ?? '', `${run}-${index}`)
      })
      let wire = texts.join('')
      wire = wire.slice(0, Math.round(share * wire.length))
      const whole = countWhole(texts, wire.length)
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
      socket.on('error', () => {}).resume()
      const closed = once(socket, 'close')
      for (const length of cuts) {
        if (wire === '' || !socket.writable) break
        socket.write(wire.slice(0, length), 'latin1')
        wire = wire.slice(length)
        // Otherwise the proxy reads several pieces at once.
        await new Promise((resolve) => setImmediate(resolve))
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      socket.end()
      await closed

      const arrived = received.filter(
        ({ id, isComplete }) => isComplete && id.startsWith(`${run}-`),
      )
      expect(arrived.map(({ id }) => id)).toEqual(arrived.map((_each, index) => `${run}-${index}`))
      const missing = requests.slice(arrived.length, whole)
      expect(missing.slice(0, 1).every(isRefusable)).toBe(true)
    }),
    { numRuns: casesOfRun(120) },
  )

  for (const { id, line, origin, body, isComplete } of received) {
    const own = sent.get(id)
    const whole = own?.body ?? 'unknown'
    expect({ line, origin }).toEqual({
      line: `${own?.method} ${own?.target} HTTP/1.1`,
      origin: own?.origin,
    })
    expect(isComplete ? whole : whole.slice(0, body.length)).toBe(body)
  }
  expect(received.length).toBeGreaterThan(0)
  expect(errors).toEqual([])
  await expect.poll(() => live.size()).toBe(0)
})

/** How many texts end within so many bytes. */
function countWhole(texts: readonly string[], length: number): number {
  let end = 0
  return texts.filter((text) => (end += text.length) <= length).length
}

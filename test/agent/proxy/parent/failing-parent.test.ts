import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { bundleOf } from '../../fixture/bundle.ts'
import {
  connectTo,
  exchangeRaw,
  get,
  openRaw,
  parseRaw,
  readAll,
  readUntil,
  startProxy,
} from '../../fixture/proxy.ts'
import { startWith } from './parent-scene.ts'

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\nVia: 1.1 x\r\n\r\n'

describe('a failing parent proxy', () => {
  it.each<[string, (socket: Socket) => void, string]>([
    ['closes the connection', (socket) => socket.end(), 'closed the connection'],
    ['resets the connection', (socket) => socket.resetAndDestroy(), 'closed the connection'],
    ['asks for credentials', (socket) => socket.write('HTTP/1.1 407 No\r\n\r\n'), 'answered 407'],
    [
      'asks for them in a head of 60,000 bytes',
      (socket) => socket.write(`HTTP/1.1 407 No\r\nX: ${'x'.repeat(60_000)}\r\n\r\n`),
      'answered 407',
    ],
    ['refuses', (socket) => socket.write('HTTP/1.0 403\r\n\r\n'), 'answered 403'],
    ['redirects', (socket) => socket.write('HTTP/1.1 302 X\r\n\r\n'), 'answered 302'],
    ['goes on', (socket) => socket.write('HTTP/1.1 100 X\r\n\r\n'), 'answered 100'],
    ['speaks another protocol', (socket) => socket.write('SSH-2.0-x\r\n'), 'valid HTTP'],
    [
      'answers with bare line feeds',
      (socket) => socket.write('HTTP/1.1 200 OK\nA: b\n\n\r\n\r\n'),
      'valid HTTP',
    ],
    ['folds a field', (socket) => socket.write('HTTP/1.1 200 OK\r\n A: b\r\n\r\n'), 'valid HTTP'],
    ['speaks a later version', (socket) => socket.write('HTTP/2 200\r\n\r\n'), 'valid HTTP'],
    ['sends an endless head', (socket) => sendForever(socket, 'HTTP/1.1 200 OK\r\n'), 'valid HTTP'],
    ['sends an endless line', (socket) => sendForever(socket, 'HTTP/1.1 200 '), 'valid HTTP'],
  ])('that %s gives a 502 with the reason, and no direct dial', async (_what, act, reason) => {
    const proxy = await startWith(act)

    for (const text of [connectTo('x.a.test:443'), get('x.a.test:80')]) {
      const answer = await exchangeRaw(proxy.port, text)
      expect(answer.status).toBe(502)
      expect(answer.head).toContain(reason)
      expect(JSON.parse(answer.body)).toMatchObject({ reason: 'parent_failed', code: 'internal' })
    }

    expect(proxy.dialled).toEqual(Array(2).fill(`127.0.0.1:${proxy.parentPort}`))
    expect(proxy.errors).toEqual([])
    await expect.poll(() => proxy.live.size()).toBe(0)
  })

  it('that cannot be reached gives a 502, and no direct dial', async () => {
    const proxy = await startProxy(
      bundleOf(['allow', 'connect:tcp', '*.a.test']),
      { 'x.a.test': ['10.0.0.7'] },
      100,
      { parent: { host: '127.0.0.1', port: 1 } },
    )

    const answer = await exchangeRaw(proxy.port, connectTo('x.a.test:443'))

    expect(answer.head).toContain('502 Palisade: the parent proxy cannot be reached')
    expect(proxy.dialled).toEqual(['127.0.0.1:1'])
    expect(proxy.parent?.status().last_error).toMatchObject({ code: 'unreachable' })
  })

  it('whose name cannot be resolved gives a 502, and no direct dial', async () => {
    const proxy = await startProxy(
      bundleOf(['allow', 'connect:tcp', '*.a.test']),
      { 'x.a.test': ['10.0.0.7'] },
      100,
      { parent: { host: 'proxy.test', port: 3128 } },
    )

    const answer = await exchangeRaw(proxy.port, connectTo('x.a.test:443'))

    expect(answer.head).toContain('502 Palisade: the name of the parent proxy cannot be resolved')
    expect(proxy.dialled).toEqual([])
  })

  it.each<[string, (socket: Socket) => void]>([
    ['is silent', () => {}],
    ['sends a byte now and then', (socket) => void sendSlowly(socket, ESTABLISHED.repeat(9), 50)],
  ])('that %s is given up in time', async (_what, act) => {
    const proxy = await startWith(act, 300)

    const answer = await exchangeRaw(proxy.port, connectTo('x.a.test:443'))

    expect(answer.head).toContain('502 Palisade: the parent proxy did not answer in time')
    expect(proxy.dialled).toHaveLength(1)
  })

  it('leaves its status clean after the next success', async () => {
    const proxy = await startWith((socket, attempt) => {
      socket.write(attempt === 0 ? 'HTTP/1.1 403 No\r\n\r\n' : ESTABLISHED)
    })
    await exchangeRaw(proxy.port, connectTo('x.a.test:443'))
    expect(proxy.parent?.status().last_error).toMatchObject({ code: 'refused' })

    await readUntil(await openRaw(proxy.port, connectTo('x.a.test:443')), '\r\n\r\n')

    expect(proxy.parent?.status().last_error).toBe(null)
  })
})

describe('the answer of a parent proxy', () => {
  it('may arrive byte by byte, with the first bytes of the tunnel', async () => {
    const proxy = await startWith((socket) => void sendSlowly(socket, `${ESTABLISHED}early`, 1))
    const socket = await openRaw(proxy.port, connectTo('x.a.test:443'))

    let received = ''
    while (!received.endsWith('early')) received += await readUntil(socket, '')

    expect(received).toMatch(/^HTTP\/1\.1 200 [^\r\n]*\r\n\r\nearly$/)
  })

  it('may be followed by bytes of the tunnel and its end in the same piece', async () => {
    const text = 'x'.repeat(100_000)
    const proxy = await startWith((socket) => socket.end(`${ESTABLISHED}${text}`))
    const socket = await openRaw(proxy.port, connectTo('x.a.test:443'))

    expect(parseRaw(await readAll(socket))).toMatchObject({ status: 200, body: text })
  })

  it('may be followed at once by the answer to a request', async () => {
    const proxy = await startWith((socket) =>
      socket.write(`${ESTABLISHED}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`),
    )

    expect(await exchangeRaw(proxy.port, get('x.a.test:80'))).toMatchObject({
      status: 200,
      body: 'ok',
    })
  })
})

function sendForever(socket: Socket, start: string): void {
  socket.write(start)
  const more = 'A'.repeat(1_000)
  const send = (): void => {
    if (!socket.destroyed) socket.write(more, () => setImmediate(send))
  }
  send()
}

async function sendSlowly(socket: Socket, text: string, pauseMs: number): Promise<void> {
  socket.setNoDelay(true)
  for (const letter of text) {
    if (socket.destroyed) return
    socket.write(letter)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

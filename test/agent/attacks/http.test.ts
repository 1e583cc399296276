import { describe, expect, it, vi } from 'vitest'
import {
  ask,
  DIALECTS,
  expectUntouched,
  openTunnelTo,
  startAttack,
} from '../fixture/attack-scene.ts'
import type { RuleLine } from '../fixture/bundle.ts'
import {
  connectTo,
  exchangeRaw,
  get,
  openRaw,
  readAll,
  readUntil,
  startOrigin,
  startTcpServer,
} from '../fixture/proxy.ts'
import { openBytes } from '../fixture/socks.ts'
import { holdTimers } from '../fixture/held-timers.ts'

const HOST = 'Host: x.allowed.test:443'
const head = (line: string, ...fields: string[]): string =>
  [`${line} HTTP/1.1`, ...fields, '', ''].join('\r\n')
const post = (...fields: string[]): string =>
  head('POST http://x.allowed.test:443/', HOST, ...fields)

describe('a request that two readers could read differently', () => {
  it.each([
    ['36: two Hosts', head('GET http://x.allowed.test:443/', HOST, 'Host: evil.test')],
    ['36: two equal Hosts', head('GET http://x.allowed.test:443/', HOST, HOST)],
    ['36: two Hosts of CONNECT', connectTo('x.allowed.test:443', 'Host: evil.test\r\n')],
    ['37: length and chunks', post('Content-Length: 1', 'Transfer-Encoding: chunked')],
    ['37: two lengths', post('Content-Length: 1', 'Content-Length: 2')],
    ['37: an unknown coding', post('Transfer-Encoding: xchunked')],
    ['37: two codings', post('Transfer-Encoding: gzip, chunked')],
    ['37: a folded field', post('X: 1', ' 2')],
    ['37: line feeds alone', post().replaceAll('\r\n', '\n')],
    ['37: a space before the colon', post('X : 1')],
    ['40: origin form', head('GET /', HOST)],
    ['40: https', head('GET https://x.allowed.test/', 'Host: x.allowed.test')],
    ['40: ftp', head('GET ftp://x.allowed.test/', 'Host: x.allowed.test')],
    ['40: file', head('GET file:///etc/passwd', HOST)],
    ['40: gopher', head('GET gopher://x.allowed.test/', 'Host: x.allowed.test')],
  ])('case %s is answered 400 and closed', async (_title, text) => {
    const scene = await startAttack()
    const answer = await exchangeRaw(scene.port, `${text}${get('x.allowed.test:443')}`)
    expect([answer.status, scene.received(), scene.decisions]).toEqual([400, '', []])
    expectUntouched(scene)
  })

  it.each([
    ['a header of 70 KB', `X: ${'x'.repeat(70_000)}\r\n`],
    ['2000 fields', 'X: 1\r\n'.repeat(2_000)],
  ])('case 42: with %s is answered 431', async (_title, extra) => {
    const scene = await startAttack()
    const both = [get('x.allowed.test:443', '/', extra), connectTo('x.allowed.test:443', extra)]
    for (const text of both) expect((await exchangeRaw(scene.port, text)).status).toBe(431)
    expectUntouched(scene)
  })

  it('case 42: with a URL of a megabyte is answered 431', async () => {
    const scene = await startAttack()
    const text = get('x.allowed.test:443', `/${'x'.repeat(1_000_000)}`)
    expect((await exchangeRaw(scene.port, text)).status).toBe(431)
    expectUntouched(scene)
  })
})

describe('several requests on one connection', () => {
  it('case 38: one inside a body stays a body', async () => {
    const origin = await startOrigin()
    const scene = await startAttack({ reroutedTo: origin.port })
    const inner = get('evil.test')
    const text = `${post(`Content-Length: ${inner.length}`, 'Connection: close')}${inner}`
    await exchangeRaw(scene.port, text)
    expect(origin.requests).toHaveLength(1)
    expect(origin.requests[0]?.body).toBe(inner)
    expect([scene.resolved, scene.decisions.length]).toEqual([['x.allowed.test'], 1])
  })

  it('case 38: one after `Connection: close` is dropped', async () => {
    const scene = await startAttack()
    const text = `${get('x.allowed.test:443')}${get('there.allowed.test:443')}`
    expect((await exchangeRaw(scene.port, text)).status).toBe(200)
    expect(scene.resolved).toEqual(['x.allowed.test'])
  })

  it('case 39: each is decided by itself', async () => {
    const scene = await startAttack()
    const kept = get('x.allowed.test:443').replace('Connection: close\r\n', '')
    const socket = await openRaw(scene.port, kept)
    await readUntil(socket, 'ok')
    socket.write(get('evil.test:443'))
    expect(await readAll(socket)).toContain('HTTP/1.1 403 ')
    expect([scene.resolved, scene.dialled.length]).toEqual([['x.allowed.test'], 1])
  })

  it('case 44: early bytes of a tunnel are classified, and none is read before', async () => {
    const flight = 'GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n'
    const scene = await startAttack()
    const denied = await exchangeRaw(scene.port, `${connectTo('evil.test:443')}${flight}`)
    expect(denied.status).toBe(403)
    expectUntouched(scene)
    const closed = await exchangeRaw(scene.port, `${connectTo('x.allowed.test:443')}${flight}`)
    expect([closed.status, closed.body.includes('foreign_name')]).toEqual([200, true])
    expect(scene.received()).toBe('')
    const body = connectTo('x.allowed.test:443', 'Content-Length: 4\r\n')
    expect((await exchangeRaw(scene.port, `${body}body`)).status).toBe(400)
  })

  it.each([
    ['CONNECT to an allowed name', Buffer.from(connectTo('there.allowed.test:443'))],
    ['SOCKS5', Buffer.from([5, 1, 0])],
  ])('case 45: %s inside a tunnel is bytes for the target', async (_title, nested) => {
    const scene = await startAttack()
    const tunnel = await openTunnelTo(scene, 'x.allowed.test')
    tunnel.socket.write(nested)
    await expect.poll(() => scene.received()).toBe(nested.toString('latin1'))
    expect([scene.resolved, scene.dialled.length]).toEqual([['x.allowed.test'], 1])
  })

  it('case 35: another Host is replaced by the authority', async () => {
    for (const host of ['evil.test', 'x.allowed.test']) {
      const scene = await startAttack()
      const text = head('GET http://x.allowed.test:443/', `Host: ${host}`, 'Connection: close')
      await openRaw(scene.port, text)
      await expect.poll(() => scene.received()).toContain('\r\n\r\n')
      expect(scene.received().match(/Host: .*/gi)).toEqual([HOST])
    }
  })

  it('case 45: CONNECT to another name inside a tunnel is closed', async () => {
    const scene = await startAttack()
    const tunnel = await openTunnelTo(scene, 'x.allowed.test')
    tunnel.socket.write(connectTo('evil.test:443'))
    expect((await tunnel.rest()).toString()).toContain('"content":"foreign_name"')
    expect([scene.received(), scene.resolved]).toEqual(['', ['x.allowed.test']])
  })

  it('case 46: a redirect is passed on, and its target decided as a new request', async () => {
    const redirect = await startTcpServer((socket) => {
      const to = 'Location: http://evil.test:443/\r\nContent-Length: 0\r\n\r\n'
      socket.once('data', () => socket.end(`HTTP/1.1 302 Found\r\n${to}`))
    })
    const scene = await startAttack({ reroutedTo: redirect })
    const answer = await exchangeRaw(scene.port, get('x.allowed.test:443'))
    expect(answer.head).toContain('Location: http://evil.test:443/')
    for (const dialect of DIALECTS) expect(await ask(scene, dialect, 'evil.test')).toBe('denied')
    expect([scene.resolved, scene.dialled.length]).toEqual([['x.allowed.test'], 1])
  })
})

describe('fields between a program and its proxy', () => {
  const upgrade = (kind: string): string => `Upgrade: ${kind}\r\nConnection: Upgrade\r\n`

  it('case 47: an upgrade is decided by its target, and never to h2c', async () => {
    const scene = await startAttack()
    for (const kind of ['websocket', 'h2c']) {
      const text = get('evil.test:443', '/', upgrade(kind))
      expect((await exchangeRaw(scene.port, text)).status).toBe(403)
    }
    expectUntouched(scene)
    await exchangeRaw(scene.port, get('x.allowed.test:443', '/', upgrade('h2c')))
    expect(scene.received()).not.toMatch(/h2c/i)
    const tunnel = await openTunnelTo(scene, 'x.allowed.test')
    const start = scene.received().length
    tunnel.socket.write(head('GET /', HOST, 'Upgrade: h2c'))
    await expect.poll(() => scene.received().slice(start)).toBe(head('GET /', HOST))
  })

  it('case 48: are not passed on', async () => {
    const origin = await startOrigin()
    const scene = await startAttack({ reroutedTo: origin.port })
    const fields = ['X-Secret: 1', 'Connection: X-Secret, Host', 'Proxy-Authorization: Basic eA==']
    const all = [...fields, 'Proxy-Connection: x', 'Keep-Alive: 1', 'TE: trailers', 'X-Kept: 1', '']
    await exchangeRaw(scene.port, get('x.allowed.test:443', '/', all.join('\r\n')))
    const { headers = {} } = origin.requests[0] ?? {}
    expect(Object.keys(headers).toSorted()).toEqual(['connection', 'host', 'via', 'x-kept'])
    expect(headers).toMatchObject({ host: 'x.allowed.test:443', connection: 'close' })
  })

  it('case 41: the proxy never connects to itself, whatever a rule allows', async () => {
    const names = { 'self.allowed.test': ['127.0.0.1'] }
    const rules: RuleLine[] = [['allow', 'connect:tcp', '127.0.0.1', '0.0.0.0', '**.allowed.test']]
    const scene = await startAttack({ rules, names })
    for (const host of ['127.0.0.1', '0.0.0.0', 'localhost', 'self.allowed.test', '2130706433'])
      for (const dialect of DIALECTS)
        expect(await ask(scene, dialect, host, scene.port)).toBe('denied')
    expect(scene.dialled).toEqual([])
  })
})

describe('a program that takes its time', () => {
  it('case 43: has eight seconds for a head of CONNECT or SOCKS5', async () => {
    const scene = await startAttack({ idleMs: 60_000 })
    holdTimers()
    const connecting = await openRaw(scene.port, 'CONNECT x.allowed.test:443 HTTP/1.1\r\nX: ')
    const negotiating = await openBytes(scene.port, Buffer.from([5, 1, 0, 5, 1]))
    const silent = await openRaw(scene.port, '')
    expect([...(await negotiating.take(2))]).toEqual([5, 0])
    await expect.poll(() => vi.getTimerCount()).toBe(3)
    vi.advanceTimersByTime(7_999)
    expect([connecting, negotiating.socket, silent].map((each) => each.closed)).toEqual([
      false,
      false,
      false,
    ])
    vi.advanceTimersByTime(1)
    const [answer, reply, nothing] = await Promise.all([
      readAll(connecting),
      negotiating.rest(),
      readAll(silent),
    ])
    expect(answer).toContain('HTTP/1.1 408 ')
    expect([...reply].slice(0, 2)).toEqual([5, 1])
    expect(nothing).toBe('')
    expectUntouched(scene)
  })

  it('case 43: loses an idle tunnel, and a slow body', async () => {
    const bodyRate = { bytes: 100, windowMs: 300 }
    const silent = await startTcpServer((socket) => socket.resume())
    const scene = await startAttack({ idleMs: 1_000, bodyRate, reroutedTo: silent })
    const tunnel = await openTunnelTo(scene, 'x.allowed.test')
    expect(await tunnel.rest()).toHaveLength(0)
    await expect.poll(() => scene.ends).toMatchObject([{ flow: { cause: 'idle' } }])
    const answer = await exchangeRaw(scene.port, post('Content-Length: 1000'))
    expect(answer.status).toBe(408)
    await expect.poll(() => scene.live.size()).toBe(0)
  })

  it('case 43: gets 429 beyond the limit, and open tunnels are unharmed', async () => {
    const scene = await startAttack({ limit: 1, idleMs: 60_000 })
    const tunnel = await openTunnelTo(scene, 'x.allowed.test')
    for (const text of [connectTo('x.allowed.test:443'), get('x.allowed.test:443')])
      expect((await exchangeRaw(scene.port, text)).status).toBe(429)
    // A general failure: SOCKS5 has no code for it.
    expect(await ask(scene, 'socks5', 'x.allowed.test')).toBe('malformed')
    expect(scene.dialled).toHaveLength(1)
    tunnel.socket.write('x\n')
    await expect.poll(() => scene.received()).toBe('x\n')
  })
})

import { describe, expect, it, vi } from 'vitest'
import {
  clientHello,
  ENCRYPTED_CLIENT_HELLO,
  serverNameExtension,
  type HelloOptions,
} from '../fixture/client-hello.ts'
import { openTunnelTo, startAttack, type AttackScene } from '../fixture/attack-scene.ts'
import type { ByteClient } from '../fixture/socks.ts'
import { holdTimers } from '../fixture/held-timers.ts'

const TUNNELS = ['connect', 'socks5'] as const
const ACCESS_DENIED = '\x15\x03\x03\0\x02\x021'

const named = (...names: (string | Buffer)[]): Buffer =>
  clientHello({ serverName: null, extensions: [[0, serverNameExtension(...names)]] })
const withEch = (serverName: string): HelloOptions => ({
  serverName,
  extensions: [[ENCRYPTED_CLIENT_HELLO, Buffer.of(0, 1, 2)]],
})

/** Opens a tunnel to `x.allowed.test` in each dialect and sends a first flight. */
async function inTunnels(
  flight: Buffer,
  check: (scene: AttackScene, tunnel: ByteClient) => Promise<void>,
): Promise<void> {
  for (const dialect of TUNNELS) {
    const scene = await startAttack()
    const tunnel = await openTunnelTo(scene, 'x.allowed.test', 443, dialect)
    tunnel.socket.write(flight)
    await check(scene, tunnel)
    expect(scene.errors).toEqual([])
  }
}

async function expectClosed(flight: Buffer, content: string): Promise<void> {
  await inTunnels(flight, async (scene, tunnel) => {
    const answer = await tunnel.rest()
    expect(scene.received()).toBe('')
    expect(scene.dialled).toEqual(['198.51.100.1:443'])
    await expect
      .poll(() => scene.ends)
      .toMatchObject([{ flow: { cause: 'content' }, decision: { decision: 'deny', content } }])
    const said = answer.toString('latin1', 0, 9)
    expect(said).toBe(flight[0] === 22 ? ACCESS_DENIED : 'HTTP/1.1 ')
  })
}

describe('TLS in a tunnel', () => {
  it.each([
    ['a name without rule', 'evil.test'],
    ['a denied name', 'bad.allowed.test'],
    ['a name that only begins alike', 'x.allowed.test.evil.test'],
    ['an allowed name at another address', 'gone.allowed.test'],
  ])('case 49: for %s is closed', async (_title, name) => {
    await expectClosed(clientHello({ serverName: name }), 'foreign_name')
  })

  it('case 49: for the target, or an allowed name at its address, is carried', async () => {
    for (const name of ['X.Allowed.Test', 'there.allowed.test']) {
      const flight = clientHello({ serverName: name })
      await inTunnels(flight, async (scene) => {
        await expect.poll(() => scene.received()).toBe(flight.toString('latin1'))
      })
    }
  })

  it.each([
    ['without a name', clientHello({ serverName: null }), 'no_server_name'],
    ['for an address', named('198.51.100.1'), 'malformed'],
    ['for two names', named('x.allowed.test', 'evil.test'), 'malformed'],
    ['for the same name twice', named('x.allowed.test', 'x.allowed.test'), 'malformed'],
    ['for a name beyond ASCII', named('x.ällowed.test'), 'malformed'],
    ['for a name with NUL', named('x.allowed.test\0'), 'malformed'],
    ['for a name with a blank', named('x.allowed.test '), 'malformed'],
    ['for full-width letters', named(Buffer.from('ｘ.allowed.test')), 'malformed'],
  ])('case 50: %s is closed', async (_title, flight, content) => {
    await expectClosed(flight, content)
  })

  it.each([
    ['by byte', clientHello({ serverName: 'x.allowed.test' }), 1],
    ['over records of one byte', clientHello({ serverName: 'x.allowed.test', recordBytes: 1 }), 64],
    ['beyond a record', clientHello({ serverName: 'x.allowed.test', padding: 40_000 }), 9_000],
  ])('case 51: split %s is parsed', async (_title, flight, pieceBytes) => {
    await inTunnels(Buffer.alloc(0), async (scene, tunnel) => {
      for (let start = 0; start < flight.length; start += pieceBytes) {
        tunnel.socket.write(flight.subarray(start, start + pieceBytes))
        await new Promise((resolve) => setImmediate(resolve))
      }
      await expect.poll(() => scene.received() === flight.toString('latin1')).toBe(true)
    })
  })

  it('case 51: split by byte for another name is closed', async () => {
    await expectClosed(clientHello({ serverName: 'evil.test', recordBytes: 1 }), 'foreign_name')
  })

  it('case 51: longer than 64 KiB is closed', async () => {
    await expectClosed(clientHello({ serverName: 'x.allowed.test', padding: 65_500 }), 'malformed')
  })

  it('case 51: that is never finished is closed after five seconds', async () => {
    const flight = clientHello({ serverName: 'x.allowed.test' })
    const scene = await startAttack({ idleMs: 60_000 })
    holdTimers()
    const tunnels = await Promise.all(
      TUNNELS.map((dialect) => openTunnelTo(scene, 'x.allowed.test', 443, dialect)),
    )
    for (const { socket } of tunnels) socket.write(flight.subarray(0, -1))
    await expect.poll(() => vi.getTimerCount()).toBe(TUNNELS.length)
    vi.advanceTimersByTime(4_999)
    expect(scene.live.size()).toBe(TUNNELS.length)
    vi.advanceTimersByTime(1)
    for (const tunnel of tunnels) expect(await tunnel.rest()).toHaveLength(0)
    expect(scene.received()).toBe('')
    await expect
      .poll(() => scene.ends.map(({ decision }) => decision.content))
      .toEqual(['incomplete', 'incomplete'])
  })

  it('case 52: with an encrypted hello behind another name is closed', async () => {
    await expectClosed(clientHello(withEch('there.allowed.test')), 'encrypted_hello')
    const flight = clientHello(withEch('x.allowed.test'))
    await inTunnels(flight, async (scene) => {
      await expect.poll(() => scene.received()).toBe(flight.toString('latin1'))
    })
  })
})

describe('another protocol in a tunnel to port 443', () => {
  it('case 53: HTTP for another host is closed', async () => {
    for (const host of ['evil.test', 'bad.allowed.test:443'])
      await expectClosed(Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`), 'foreign_name')
  })

  it('case 54: a server that speaks first is heard, and its program carried', async () => {
    for (const dialect of TUNNELS) {
      const scene = await startAttack({ greeting: 'SSH-2.0-server\r\n' })
      const tunnel = await openTunnelTo(scene, 'x.allowed.test', 443, dialect)
      expect((await tunnel.take(16)).toString()).toBe('SSH-2.0-server\r\n')
      tunnel.socket.write('SSH-2.0-client\r\n')
      await expect.poll(() => scene.received()).toBe('SSH-2.0-client\r\n')
    }
  })
})

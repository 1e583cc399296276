import { describe, expect, it } from 'vitest'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { startProxy, startTcpServer } from '../../fixture/proxy.ts'
import { askSocks, GREETING, openBytes, socksAddress, socksName } from '../../fixture/socks.ts'

const LOCAL: RuleLine = ['allow', 'connect:tcp', '127.0.0.1']
const NAMED: RuleLine = ['allow', 'connect:tcp', '**.a.test']
const ECHO = (): Promise<number> => startTcpServer((socket) => socket.pipe(socket))

describe('SOCKS5 CONNECT', () => {
  it('opens a tunnel to an allowed address', async () => {
    const echo = await ECHO()
    const { port, decisions } = await startProxy(bundleOf(LOCAL))

    const { client, reply } = await askSocks(port, socksAddress([127, 0, 0, 1], echo))
    client.socket.write('ping\n')

    expect(reply).toBe(0)
    expect((await client.take(5)).toString()).toBe('ping\n')
    expect(decisions).toMatchObject([{ decision: 'allow', request: { host: '127.0.0.1' } }])
  })

  it('opens a tunnel to an allowed name, resolved by the proxy', async () => {
    const echo = await ECHO()
    const { port, resolved } = await startProxy(bundleOf(LOCAL, NAMED), {
      'x.a.test': ['127.0.0.1'],
    })

    const { client, reply } = await askSocks(port, socksName('X.A.test.', echo))
    client.socket.write('ping\n')

    expect(reply).toBe(0)
    expect((await client.take(5)).toString()).toBe('ping\n')
    expect(resolved).toEqual(['x.a.test'])
  })

  it('keeps bytes that follow the request in the same piece', async () => {
    const echo = await ECHO()
    const { port } = await startProxy(bundleOf(LOCAL))
    const request = Buffer.concat([socksAddress([127, 0, 0, 1], echo), Buffer.from('early\n')])

    const { client } = await askSocks(port, request)

    expect((await client.take(6)).toString()).toBe('early\n')
  })

  it('is read byte by byte too', async () => {
    const echo = await ECHO()
    const { port } = await startProxy(bundleOf(LOCAL))
    const client = await openBytes(port, Buffer.alloc(0))
    for (const byte of Buffer.concat([GREETING, socksAddress([127, 0, 0, 1], echo)])) {
      client.socket.write(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }

    expect([...(await client.take(4))]).toEqual([5, 0, 5, 0])
  })

  it.each([
    ['a denied name', socksName('evil.test', 443)],
    ['a denied address', socksAddress([10, 0, 0, 1], 443)],
    ['a protected address', socksAddress([169, 254, 169, 254], 80)],
    [
      'an IPv6 form of a protected address',
      socksAddress([...Buffer.alloc(10), 255, 255, 127, 0, 0, 2], 80),
    ],
    ['a name that is an address', socksName('0x7f.2', 80)],
  ])('to %s is refused by rule, and neither resolved nor dialled', async (_title, request) => {
    const { port, resolved, decisions } = await startProxy(bundleOf(NAMED))

    const { client, reply } = await askSocks(port, request)

    expect(reply).toBe(2)
    expect(await client.rest()).toHaveLength(0)
    expect(resolved).toEqual([])
    expect(decisions).toMatchObject([{ decision: 'deny' }])
  })

  it('to a name without address, or a closed port, is refused with its reason', async () => {
    const { port } = await startProxy(bundleOf(NAMED, LOCAL), { 'closed.a.test': ['127.0.0.1'] })

    expect((await askSocks(port, socksName('missing.a.test', 443))).reply).toBe(4)
    expect((await askSocks(port, socksName('closed.a.test', 1))).reply).toBe(5)
  })

  it.each([
    ['NUL in a name', socksName('x.a.test\0.evil.test', 443), 1],
    ['a name that holds a port', socksName('x.a.test:443', 443), 1],
    ['IPv6 as a name', socksName('::1', 443), 1],
    ['bracketed IPv6 as a name', socksName('[::1]', 443), 1],
    ['a percent sign', socksName('x%2ea.test', 443), 1],
    ['full-width letters', socksName(Buffer.from('ｘ.a.test'), 443), 1],
    ['an empty name', socksName('', 443), 1],
    ['a name of 255 bytes', socksName('x'.repeat(255), 443), 1],
    ['port 0', socksName('x.a.test', 0), 1],
    ['BIND', socksName('x.a.test', 443, 2), 7],
    ['an unknown command', socksName('x.a.test', 443, 9), 7],
    ['an unknown address type', Buffer.from([5, 1, 0, 9, 1, 2, 3, 4, 0, 80]), 8],
    ['another version', Buffer.from([4, 1, 0, 1, 127, 0, 0, 1, 0, 80]), 1],
    ['a reserved byte', Buffer.from([5, 1, 1, 1, 127, 0, 0, 1, 0, 80]), 1],
  ])('with %s gets an error reply, and no decision', async (_title, request, code) => {
    const { port, resolved, decisions, errors } = await startProxy(bundleOf(NAMED, LOCAL))

    const { client, reply } = await askSocks(port, request)

    expect(reply).toBe(code)
    expect(await client.rest()).toHaveLength(0)
    expect([resolved, decisions, errors]).toEqual([[], [], []])
  })

  it('without an acceptable method is refused', async () => {
    const { port } = await startProxy(bundleOf(LOCAL))

    const client = await openBytes(port, Buffer.from([5, 1, 2]))

    expect([...(await client.rest())]).toEqual([5, 0xff])
  })

  it('in version 4 is rejected in that version', async () => {
    const { port } = await startProxy(bundleOf(LOCAL))

    const client = await openBytes(port, Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0]))

    expect([...(await client.rest())].slice(0, 2)).toEqual([0, 0x5b])
  })
})

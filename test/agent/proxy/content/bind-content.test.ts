import { describe, expect, it } from 'vitest'
import { clientHello, ENCRYPTED_CLIENT_HELLO } from '../../fixture/client-hello.ts'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { connectTo, startProxy, startTcpServer, type ProxyScene } from '../../fixture/proxy.ts'
import { openBytes, type ByteClient } from '../../fixture/socks.ts'

const RULES: readonly RuleLine[] = [
  ['allow', 'connect:tcp', '*.a.test', '127.0.0.1'],
  ['deny', 'connect:tcp', 'bad.a.test'],
]
const NAMES = {
  'x.a.test': ['127.0.0.1'],
  'there.a.test': ['127.0.0.1'],
  'elsewhere.a.test': ['127.0.0.2'],
}

interface Tunnel extends ByteClient {
  readonly scene: ProxyScene
  /** Bytes that the target received. */
  received(): string
}

/** A tunnel to `host` at a target that echoes. */
async function openTunnelTo(
  host: string,
  rules = RULES,
  greeting = '',
  names: Readonly<Record<string, readonly string[]>> = NAMES,
): Promise<Tunnel> {
  let received = ''
  const target = await startTcpServer((socket) => {
    if (greeting !== '') socket.write(greeting)
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
      socket.write(chunk)
    })
  })
  const scene = await startProxy(bundleOf(...rules), names)
  const client = await openBytes(scene.port, Buffer.from(connectTo(`${host}:${target}`)))
  const granted = 'HTTP/1.1 200 Connection Established\r\n\r\n'
  expect((await client.take(granted.length)).toString()).toBe(granted)
  return { ...client, scene, received: () => received }
}

const head = (host: string, line = 'GET / HTTP/1.1'): Buffer =>
  Buffer.from(`${line}\r\nHost: ${host}\r\n\r\n`)

describe('a tunnel to a name', () => {
  it.each([
    ['TLS for that name', clientHello({ serverName: 'x.a.test' })],
    ['TLS in another letter case', clientHello({ serverName: 'X.A.Test' })],
    ['TLS for an allowed name at the same address', clientHello({ serverName: 'there.a.test' })],
    [
      'an encrypted hello behind that name',
      clientHello({ serverName: 'x.a.test', extensions: [[ENCRYPTED_CLIENT_HELLO, Buffer.of(0)]] }),
    ],
    ['HTTP for that name', head('x.a.test')],
    ['another protocol', Buffer.from('SSH-2.0-x\r\n')],
  ])('carries %s', async (_title, flight) => {
    const tunnel = await openTunnelTo('x.a.test')

    tunnel.socket.write(flight)

    expect(await tunnel.take(flight.length)).toEqual(flight)
  })

  it.each([
    ['TLS for a denied name', clientHello({ serverName: 'bad.a.test' }), 'foreign_name', 'rule'],
    [
      'TLS for a name without rule',
      clientHello({ serverName: 'b.test' }),
      'foreign_name',
      'default_deny',
    ],
    [
      'TLS for an allowed name at another address',
      clientHello({ serverName: 'elsewhere.a.test' }),
      'foreign_name',
      'invalid_request',
    ],
    [
      'TLS for an address',
      clientHello({ serverName: '127.0.0.1' }),
      'malformed',
      'invalid_request',
    ],
    [
      'TLS for a name with a port',
      clientHello({ serverName: 'x.a.test:1' }),
      'malformed',
      'invalid_request',
    ],
    [
      'TLS for a name beyond ASCII',
      clientHello({ serverName: 'x.ä.test' }),
      'malformed',
      'invalid_request',
    ],
    [
      'an encrypted hello behind another name',
      clientHello({
        serverName: 'there.a.test',
        extensions: [[ENCRYPTED_CLIENT_HELLO, Buffer.of(0)]],
      }),
      'encrypted_hello',
      'invalid_request',
    ],
    ['HTTP for another host', head('evil.test'), 'foreign_name', 'default_deny'],
    ['HTTP for another port', head('x.a.test:1'), 'foreign_name', 'invalid_request'],
    ['HTTP for an address', head('127.0.0.2'), 'foreign_name', 'protected_address'],
    [
      'HTTP with two hosts',
      Buffer.from('GET / HTTP/1.1\r\nHost: x.a.test\r\nHost: evil.test\r\n\r\n'),
      'malformed',
      'invalid_request',
    ],
    [
      'HTTP with another authority in its target',
      head('x.a.test', 'GET http://evil.test/ HTTP/1.1'),
      'malformed',
      'invalid_request',
    ],
    [
      'HTTP with another authority behind any scheme',
      head('x.a.test', 'GET foo://evil.test/ HTTP/1.1'),
      'malformed',
      'invalid_request',
    ],
    ['HTTP without host', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'malformed', 'invalid_request'],
    [
      'an upgrade to HTTP/2 or another protocol',
      Buffer.from('GET / HTTP/1.1\r\nHost: x.a.test\r\nUpgrade: h2c, websocket\r\n\r\n'),
      'http2',
      'invalid_request',
    ],
    [
      'a PROXY header of version 1',
      Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 1 443\r\nGET / HTTP/1.1\r\n\r\n'),
      'malformed',
      'invalid_request',
    ],
    [
      'a PROXY header of version 2',
      Buffer.from('\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c____________GET / HTTP/1.1\r\n\r\n', 'latin1'),
      'malformed',
      'invalid_request',
    ],
    [
      'HTTP/2 without TLS',
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      'http2',
      'invalid_request',
    ],
  ])(
    'is closed for %s, of which the target gets at most a first line',
    async (_title, flight, content, reason) => {
      const tunnel = await openTunnelTo('x.a.test')

      tunnel.socket.write(flight)
      const answer = await tunnel.rest()

      expect(tunnel.received()).toBe('')
      await expect
        .poll(() => tunnel.scene.ends)
        .toMatchObject([
          { flow: { cause: 'content' }, decision: { decision: 'deny', content, reason } },
        ])
      const isTls = flight[0] === 22
      expect([answer.equals(Buffer.of(21, 3, 3, 0, 2, 2, 49)), isTls]).toEqual([isTls, isTls])
      expect(tunnel.scene.errors).toEqual([])
      expect(tunnel.scene.live.size()).toBe(0)
    },
  )

  it('tells a program that speaks HTTP the reason', async () => {
    const tunnel = await openTunnelTo('x.a.test')

    tunnel.socket.write(head('evil.test'))
    const answer = (await tunnel.rest()).toString()

    expect(answer).toMatch(/^HTTP\/1\.1 403 Palisade: evil\.test:\d+ denied, no rule allows it/)
    expect(answer).toContain('"content":"foreign_name"')
  })

  it('lets the server speak first', async () => {
    const tunnel = await openTunnelTo('x.a.test', RULES, '220 hello\r\n')

    expect((await tunnel.take(11)).toString()).toBe('220 hello\r\n')
    tunnel.socket.write('EHLO x\r\n')
    expect((await tunnel.take(8)).toString()).toBe('EHLO x\r\n')
  })

  it('is closed when a name in it is denied by a new policy', async () => {
    const tunnel = await openTunnelTo('x.a.test')
    const flight = clientHello({ serverName: 'there.a.test' })
    tunnel.socket.write(flight)
    await tunnel.take(flight.length)

    tunnel.scene.use(bundleOf(...RULES, ['deny', 'connect:tcp', 'there.a.test']))

    expect(await tunnel.rest()).toHaveLength(0)
    await expect
      .poll(() => tunnel.scene.ends)
      .toMatchObject([
        { flow: { cause: 'revoked' }, decision: { decision: 'deny', reason: 'rule' } },
      ])
  })
})

describe('a request that offers HTTP/2', () => {
  const offer = (connection: string): string =>
    `GET / HTTP/1.1\r\n${connection}\r\nHost: x.a.test\r\nHTTP2-Settings: AAEA\r\n` +
    'Upgrade: h2c\r\n\r\nUpgrade: body\r\n\r\n'

  it.each([
    ['Connection: Upgrade, HTTP2-Settings', ''],
    ['connection: Upgrade, X-Hop, HTTP2-Settings', 'connection: X-Hop\r\n'],
  ])('is carried without the offer: `%s`', async (connection, kept) => {
    const tunnel = await openTunnelTo('x.a.test')
    const carried = `GET / HTTP/1.1\r\n${kept}Host: x.a.test\r\n\r\nUpgrade: body\r\n\r\n`

    tunnel.socket.write(offer(connection))

    expect((await tunnel.take(carried.length)).toString()).toBe(carried)
  })

  it('is closed when the target switches protocols all the same', async () => {
    const target = await startTcpServer((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 10')
        setTimeout(() => socket.write('1 Switching Protocols\r\nUpgrade: h2c\r\n\r\nframes'), 50)
      }),
    )
    const scene = await startProxy(bundleOf(...RULES), NAMES)
    const client = await openBytes(scene.port, Buffer.from(connectTo(`x.a.test:${target}`)))
    await client.take('HTTP/1.1 200 Connection Established\r\n\r\n'.length)

    client.socket.write(offer('Connection: Upgrade, HTTP2-Settings'))

    expect((await client.rest()).toString()).not.toContain('frames')
    await expect
      .poll(() => scene.ends)
      .toMatchObject([{ flow: { cause: 'content' }, decision: { content: 'http2' } }])
  })
})

describe('a request to a further proxy', () => {
  const connectThrough = (authority: string): Buffer =>
    head(authority, `CONNECT ${authority} HTTP/1.1`)

  it.each(['x.a.test', '127.0.0.1'])('at `%s` is carried for an allowed name', async (host) => {
    const tunnel = await openTunnelTo(host)
    const flight = connectThrough('there.a.test:443')

    tunnel.socket.write(flight)

    expect(await tunnel.take(flight.length)).toEqual(flight)
  })

  it.each([
    ['a name without rule', 'evil.test:443'],
    ['a denied name', 'bad.a.test:443'],
    ['an address that is protected', '127.0.0.9:443'],
    ['no valid target', 'evil.test'],
  ])('is closed for %s', async (_title, authority) => {
    for (const host of ['x.a.test', '127.0.0.1']) {
      const tunnel = await openTunnelTo(host)

      tunnel.socket.write(connectThrough(authority))

      expect((await tunnel.rest()).toString()).toMatch(/^HTTP\/1\.1 403 /)
    }
  })

  it('is closed in another spelling too, which a lenient proxy reads alike', async () => {
    const tunnel = await openTunnelTo('x.a.test')

    tunnel.socket.write(head('x.a.test', 'Connect evil.test:443 HTTP/1.1'))

    expect((await tunnel.rest()).toString()).toMatch(/^HTTP\/1\.1 403 /)
    expect(tunnel.received()).not.toContain('Host')
  })
})

describe('a name in a tunnel', () => {
  it('is denied by a policy that comes into force while its addresses are decided', async () => {
    let deny = (): void => {}
    const names = {
      ...NAMES,
      get 'there.a.test'() {
        // Runs after the decision on the first address.
        setImmediate(() => deny())
        return ['127.0.0.1', '127.0.0.2', '127.0.0.3']
      },
    }
    const tunnel = await openTunnelTo('x.a.test', RULES, '', names)
    deny = () => tunnel.scene.use(bundleOf(...RULES, ['deny', 'connect:tcp', 'there.a.test']))

    tunnel.socket.write(clientHello({ serverName: 'there.a.test' }))
    await tunnel.rest()

    expect(tunnel.received()).toBe('')
    await expect
      .poll(() => tunnel.scene.ends)
      .toMatchObject([{ flow: { cause: 'content' }, decision: { reason: 'rule' } }])
  })
})

describe('a tunnel to an address', () => {
  it.each([
    ['TLS without a name', clientHello({ serverName: null })],
    ['TLS for a name without rule', clientHello({ serverName: 'b.test' })],
    ['HTTP for that address', head('127.0.0.1')],
  ])('carries %s', async (_title, flight) => {
    const tunnel = await openTunnelTo('127.0.0.1')

    tunnel.socket.write(flight)

    expect(await tunnel.take(flight.length)).toEqual(flight)
  })

  it.each([
    ['TLS for a denied name', clientHello({ serverName: 'bad.a.test' })],
    ['HTTP for a denied name', head('bad.a.test')],
  ])('is closed for %s', async (_title, flight) => {
    const tunnel = await openTunnelTo('127.0.0.1')

    tunnel.socket.write(flight)
    await tunnel.rest()

    expect(tunnel.received()).toBe('')
    await expect
      .poll(() => tunnel.scene.ends)
      .toMatchObject([{ decision: { content: 'foreign_name', reason: 'rule' } }])
  })
})

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf, type RuleLine } from '../fixture/bundle.ts'
import { exchangeRaw, openRaw, readUntil, startProxy, startTcpServer } from '../fixture/proxy.ts'
import { askSocks, socksName } from '../fixture/socks.ts'
import {
  associate,
  frameTo,
  frameToName,
  openEcho,
  openUdp,
  type Association,
  type UdpEnd,
} from '../fixture/udp.ts'

const HOST = [127, 0, 0, 1]
const ECHO: RuleLine = ['allow', 'connect:udp', '127.0.0.1']

/** Returns after the echo of a datagram: the proxy has decided all datagrams before it. */
async function settle({ send, program }: Association, echo: UdpEnd, text: string): Promise<void> {
  send(frameTo(HOST, echo.port, text))
  await expect.poll(() => program.received.some((frame) => frame.endsWith(text))).toBe(true)
}

/** An origin that switches to any protocol that a request asks for. */
async function startSwitcher(): Promise<{ port: number; asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = []
  const sockets = new Set<Duplex>()
  const server = createServer((request, response) => {
    asked.push(request.headers.upgrade)
    response.end('plain')
  })
  server.on('upgrade', ({ headers: { upgrade } }: IncomingMessage, socket: Duplex) => {
    asked.push(upgrade)
    socket.on('error', () => socket.destroy())
    socket.write(`HTTP/1.1 101 Yes\r\nUpgrade: ${upgrade}\r\nConnection: Upgrade\r\n\r\nswitched`)
  })
  server.on('connection', (socket: Duplex) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, asked }
}

function upgradeTo(protocol: string, authority: string): string {
  return (
    `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nUpgrade: ${protocol}\r\n` +
    'Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
  )
}

describe('attacks by datagrams and upgrades', () => {
  it('case 32: a rule for UDP opens no TCP, and the reverse', async () => {
    let connections = 0
    const tcp = await startTcpServer(() => (connections += 1))
    const [echo, udp] = [await openEcho(), await openUdp()]
    const { port, resolved, dialled } = await startProxy(
      bundleOf(ECHO, ['allow', 'connect:udp', 'udp.test'], ['allow', 'connect:tcp', 'tcp.test']),
      { 'udp.test': ['127.0.0.1'], 'tcp.test': ['127.0.0.1'] },
    )

    expect((await askSocks(port, socksName('udp.test', tcp))).reply).toBe(2)
    const association = await associate(port)
    association.send(frameToName('tcp.test', udp.port, 'x'))
    await settle(association, echo, 'done')

    expect([connections, udp.received, resolved, dialled]).toEqual([0, [], [], []])
  })

  it('case 33: QUIC to a name that only TCP may reach is dropped', async () => {
    const echo = await openEcho()
    const { port, resolved, decisions } = await startProxy(
      bundleOf(ECHO, ['allow', 'connect:tcp', 'allowed.test:443']),
      { 'allowed.test': ['127.0.0.1'] },
    )
    const association = await associate(port)

    association.send(frameToName('allowed.test', 443, Buffer.alloc(1_200, 0xc3)))
    await settle(association, echo, 'done')

    expect(resolved).toEqual([])
    expect(decisions[0]).toMatchObject({
      decision: 'deny',
      request: { action: 'connect:udp', host: 'allowed.test', port: 443 },
    })
  })

  it('case 47: an upgrade is decided like its target, and h2c is refused', async () => {
    const origin = await startSwitcher()
    const { port, dialled } = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
    const authority = `127.0.0.1:${origin.port}`

    const denied = await exchangeRaw(port, upgradeTo('websocket', `127.0.0.2:${origin.port}`))
    const allowed = await openRaw(port, upgradeTo('websocket', authority))
    await readUntil(allowed, 'switched')
    const h2c = await exchangeRaw(port, upgradeTo('h2c', authority))

    expect([denied.status, h2c.status]).toEqual([403, 200])
    expect(origin.asked).toEqual(['websocket', undefined])
    expect(dialled).toEqual([authority, authority])
  })

  it('case 56: a denied datagram, a fragment and a forged reply are dropped', async () => {
    const echo = await openEcho()
    const denied = await openUdp('127.0.0.2', undefined, echo.port)
    const stranger = await openUdp()
    const { port, resolved } = await startProxy(bundleOf(ECHO))
    const association = await associate(port)

    association.send(frameTo([127, 0, 0, 2], echo.port, 'denied'))
    association.send(frameTo(HOST, echo.port, 'fragment', 1))
    await settle(association, echo, 'done')
    const outbound = echo.senders[0]?.port ?? 0
    for (const forger of [denied, stranger]) forger.send('forged', outbound)
    await settle(association, echo, 'done again')

    expect(denied.received).toEqual([])
    expect(echo.received).toEqual(['done', 'done again'])
    expect(association.program.received).toHaveLength(2)
    expect(resolved).toEqual([])
  })

  it('case 57: an association is dead once its TCP connection is closed', async () => {
    const echo = await openEcho()
    const { port, live } = await startProxy(bundleOf(ECHO))
    const association = await associate(port)
    await settle(association, echo, 'before')

    association.control.socket.destroy()
    await expect.poll(() => live.size()).toBe(0)
    association.send(frameTo(HOST, echo.port, 'after'))
    await settle(await associate(port), echo, 'done')

    expect(echo.received).toEqual(['before', 'done'])
  })

  it('case 99: a policy tightened during a conversation closes it', async () => {
    const echo = await openEcho()
    const { port, use, ends } = await startProxy(bundleOf(ECHO))
    const association = await associate(port)
    await settle(association, echo, 'before')

    use(bundleOf(['deny', 'connect:udp', '127.0.0.1']))
    await expect.poll(() => ends).toMatchObject([{ flow: { cause: 'revoked' } }])
    association.send(frameTo(HOST, echo.port, 'after'))
    echo.send('late', echo.senders[0]?.port ?? 0)
    use(bundleOf(ECHO, ['allow', 'connect:udp', '127.0.0.3']))
    await settle(await associate(port), echo, 'done')

    expect(echo.received).toEqual(['before', 'done'])
    expect(association.program.received).toHaveLength(1)
  })
})

import { describe, expect, it } from 'vitest'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { startProxy } from '../../fixture/proxy.ts'
import { startParent } from '../../fixture/parent-proxy.ts'
import { askSocks, socksAddress } from '../../fixture/socks.ts'
import { associate, frameTo, frameToName, openEcho, openUdp } from '../../fixture/udp.ts'

const LOCAL: RuleLine = ['allow', 'connect:udp', '127.0.0.1']
const NAMED: RuleLine = ['allow', 'connect:udp', '**.a.test']
const HOST = [127, 0, 0, 1]

describe('a UDP association', () => {
  it('carries datagrams to an allowed address, and its replies', async () => {
    const echo = await openEcho()
    const { port, decisions } = await startProxy(bundleOf(LOCAL))
    const { program, send } = await associate(port)

    send(frameTo(HOST, echo.port, 'one'))
    send(frameTo(HOST, echo.port, 'two'))

    await expect.poll(() => program.received).toHaveLength(2)
    expect(program.received).toEqual(
      ['re: one', 're: two'].map((text) => frameTo(HOST, echo.port, text).toString('latin1')),
    )
    expect(decisions).toMatchObject([
      { decision: 'allow', request: { action: 'connect:udp', host: '127.0.0.1' } },
    ])
  })

  it('carries datagrams to an allowed name, resolved once by the proxy', async () => {
    const echo = await openEcho()
    const { port, resolved, decisions } = await startProxy(bundleOf(LOCAL, NAMED), {
      'x.a.test': ['127.0.0.1'],
    })
    const { program, send } = await associate(port)

    send(frameToName('X.A.test.', echo.port, 'one'))
    send(frameToName('x.a.test', echo.port, 'two'))

    await expect.poll(() => program.received).toHaveLength(2)
    expect(echo.received).toEqual(['one', 'two'])
    expect(resolved).toEqual(['x.a.test'])
    expect(decisions).toMatchObject([{ decision: 'allow', request: { address: '127.0.0.1' } }])
  })

  it('carries datagrams to an IPv6 address', async () => {
    const echo = await openEcho('::1')
    const { port } = await startProxy(bundleOf(['allow', 'connect:udp', '::1']))
    const { program, send } = await associate(port)
    const address = [...Buffer.alloc(15), 1]

    send(frameTo(address, echo.port, 'six'))

    await expect.poll(() => program.received).toHaveLength(1)
    expect(program.received[0]).toBe(frameTo(address, echo.port, 're: six').toString('latin1'))
  })

  it.each([true, false])('takes datagrams from one port only (announced: %s)', async (announce) => {
    const echo = await openEcho()
    const { port } = await startProxy(bundleOf(LOCAL))
    const { program, relay, send } = await associate(port, { announce })
    const [stranger, elsewhere] = [await openUdp(), await openUdp('127.0.0.2')]
    send(frameTo(HOST, echo.port, 'first'))
    await expect.poll(() => program.received).toHaveLength(1)

    stranger.send(frameTo(HOST, echo.port, 'stranger'), relay)
    elsewhere.send(frameTo(HOST, echo.port, 'elsewhere'), relay)
    send(frameTo(HOST, echo.port, 'own'))

    await expect.poll(() => program.received).toHaveLength(2)
    expect(stranger.received).toEqual([])
    expect(echo.received).toEqual(['first', 'own'])
  })

  it('takes no first datagram from another port or address than its own', async () => {
    const echo = await openEcho()
    const { port } = await startProxy(bundleOf(LOCAL))
    const announced = await associate(port, { announce: true })
    const open = await associate(port)
    const [stranger, elsewhere] = [await openUdp(), await openUdp('127.0.0.2')]

    stranger.send(frameTo(HOST, echo.port, 'stranger'), announced.relay)
    elsewhere.send(frameTo(HOST, echo.port, 'elsewhere'), open.relay)
    for (const { send } of [announced, open]) send(frameTo(HOST, echo.port, 'own'))

    for (const { program } of [announced, open])
      await expect.poll(() => program.received).toHaveLength(1)
    expect(echo.received).toEqual(['own', 'own'])
  })

  it('is not taken over by a malformed first datagram', async () => {
    const echo = await openEcho()
    const { port } = await startProxy(bundleOf(LOCAL))
    const { program, relay, send } = await associate(port)
    const stranger = await openUdp()
    const before = await openUdp('127.0.0.1')

    stranger.send(Buffer.from('noise'), relay)
    before.send(frameTo(HOST, echo.port, 'fragment', 1), relay)
    send(frameTo(HOST, echo.port, 'own'))

    await expect.poll(() => program.received).toHaveLength(1)
  })

  it('ends with its TCP connection, and reports the bytes of each target', async () => {
    const echo = await openEcho()
    const { port, live, ends } = await startProxy(bundleOf(LOCAL))
    const { control, program, send } = await associate(port)
    send(frameTo(HOST, echo.port, 'four'))
    await expect.poll(() => program.received).toHaveLength(1)
    const [outbound] = echo.senders

    control.socket.destroy()
    await expect.poll(() => live.size()).toBe(0)
    send(frameTo(HOST, echo.port, 'late'))
    echo.send('late', outbound?.port ?? 0)
    // A second association shows that the proxy has read the first one's datagrams.
    const second = await associate(port)
    second.send(frameTo(HOST, echo.port, 'next'))
    await expect.poll(() => second.program.received).toHaveLength(1)

    expect(echo.received).toEqual(['four', 'next'])
    expect(program.received).toHaveLength(1)
    expect(ends).toMatchObject([
      {
        protocol: 'socks5_udp',
        client: { address: '127.0.0.1' },
        decision: { decision: 'allow' },
        flow: { bytesSent: 4, bytesReceived: 8, cause: 'closed' },
      },
    ])
  })

  it('ends when the program ends only its side of the TCP connection', async () => {
    const { port, live } = await startProxy(bundleOf(LOCAL))
    const { control } = await associate(port)

    control.socket.end('bytes that mean nothing here')

    expect(await control.rest()).toHaveLength(0)
    await expect.poll(() => live.size()).toBe(0)
  })

  it('ends its TCP connection when it is idle', async () => {
    const { port, live } = await startProxy(bundleOf(LOCAL), {}, 100, { idleMs: 100 })
    const { control } = await associate(port)

    expect(await control.rest()).toHaveLength(0)
    await expect.poll(() => live.size()).toBe(0)
  })

  it('ends when the proxy stops', async () => {
    const echo = await openEcho()
    const { port, stop, ends } = await startProxy(bundleOf(LOCAL))
    const { control, program, send } = await associate(port)
    send(frameTo(HOST, echo.port, 'one'))
    await expect.poll(() => program.received).toHaveLength(1)

    await stop()

    expect(await control.rest()).toHaveLength(0)
    await expect.poll(() => ends).toMatchObject([{ flow: { cause: 'closed' } }])
  })

  it("is refused with an error reply beyond the program's share of all associations", async () => {
    // Eight associations for all programs.
    const { port, live } = await startProxy(bundleOf(LOCAL), {}, 64)
    const held = [await associate(port), await associate(port)]

    expect((await askSocks(port, socksAddress([0, 0, 0, 0], 0, 3))).reply).toBe(1)
    held[0]?.control.socket.destroy()
    await expect.poll(() => live.size()).toBe(1)
    await associate(port)
  })

  it.each([
    ['a reserved byte', Buffer.from([5, 3, 1, 1, 0, 0, 0, 0, 0, 0]), 1],
    ['another version', Buffer.from([4, 3, 0, 1, 0, 0, 0, 0, 0, 0]), 1],
    ['an unknown address type', Buffer.from([5, 3, 0, 2, 0, 0, 0, 0, 0, 0]), 8],
  ])('is refused for a request with %s', async (_title, request, code) => {
    const { port, live } = await startProxy(bundleOf(LOCAL))

    const { client, reply } = await askSocks(port, request)

    expect(reply).toBe(code)
    expect(await client.rest()).toHaveLength(0)
    expect(live.size()).toBe(0)
  })

  it('is unsupported where a parent proxy carries the connections', async () => {
    const parent = await startParent()
    const { port, live, dialled } = await startProxy(bundleOf(LOCAL), {}, 100, { parent })

    const { client, reply } = await askSocks(port, socksAddress([0, 0, 0, 0], 0, 3))

    expect(reply).toBe(7)
    expect(await client.rest()).toHaveLength(0)
    expect([live.size(), dialled]).toEqual([0, []])
  })
})

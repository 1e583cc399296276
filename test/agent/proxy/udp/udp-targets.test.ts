import { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MachineDecision } from '../../../../agent/src/policy/decision/active-policy.ts'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import { createOutbound, createUdpPorts } from '../../../../agent/src/proxy/udp/udp-sockets.ts'
import { createUdpTargets, UDP_LIMITS } from '../../../../agent/src/proxy/udp/udp-targets.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { startProxy, type ProxyScene } from '../../fixture/proxy.ts'
import {
  associate,
  frameTo,
  frameToName,
  openEcho,
  openUdp,
  type Association,
  type UdpEnd,
} from '../../fixture/udp.ts'

const LOCAL: RuleLine = ['allow', 'connect:udp', '127.0.0.1']
const NAMED: RuleLine = ['allow', 'connect:udp', '**.a.test']
const HOST = [127, 0, 0, 1]
const OTHER = [127, 0, 0, 2]

interface Scene extends ProxyScene, Association {
  readonly echo: UdpEnd
  /** Sends a datagram that is allowed, and waits for its reply: all before it are done. */
  readonly settle: () => Promise<void>
}

async function start(
  rules: readonly RuleLine[] = [LOCAL, NAMED],
  ...options: [names?: Record<string, readonly string[]>, limit?: number, more?: object]
): Promise<Scene> {
  const echo = await openEcho()
  const scene = await startProxy(bundleOf(...rules), ...options)
  const association = await associate(scene.port)
  let settled = 0
  const settle = async (): Promise<void> => {
    settled += 1
    const text = `settled ${settled}`
    await expect
      .poll(() => {
        association.send(frameTo(HOST, echo.port, text))
        return association.program.received.some((frame) => frame.endsWith(text))
      })
      .toBe(true)
  }
  return { ...scene, ...association, echo, settle }
}

function portOf({ request }: MachineDecision): number | null {
  return request !== null && 'port' in request ? request.port : null
}

describe('the targets of a UDP association', () => {
  it.each([
    ['an address without a rule', frameTo([10, 1, 2, 3], 53, 'x'), '10.1.2.3'],
    ['a protected address', frameTo([169, 254, 169, 254], 80, 'x'), '169.254.169.254'],
    ['an address that only TCP may reach', frameTo(OTHER, 443, 'x'), '127.0.0.2'],
    [
      'an IPv6 form of a denied address',
      frameTo([...Buffer.alloc(10), 255, 255, ...OTHER], 443, 'x'),
      '127.0.0.2',
    ],
    ['an address written as a name', frameToName('0x7f.2', 443, 'x'), '127.0.0.2'],
    ['a name without a rule', frameToName('evil.test', 443, 'x'), 'evil.test'],
    ['a name that only TCP may reach', frameToName('quic.test', 443, 'x'), 'quic.test'],
    ['a denied name', frameToName('bad.a.test', 443, 'x'), 'bad.a.test'],
  ])('drop datagrams to %s, and report them once', async (_title, frame, host) => {
    const { send, settle, resolved, decisions } = await start([
      LOCAL,
      NAMED,
      ['allow', 'connect:tcp', 'quic.test', '127.0.0.2'],
      ['deny', 'connect:udp', 'bad.a.test'],
    ])

    send(frame)
    send(frame)
    await settle()

    expect(resolved).toEqual([])
    expect(decisions).toMatchObject([
      { decision: 'deny', request: { action: 'connect:udp', host } },
      { decision: 'allow' },
    ])
  })

  it('drop QUIC to a name that only TCP may reach, so that the program falls back', async () => {
    const { send, settle, echo, decisions } = await start(
      [LOCAL, ['allow', 'connect:tcp', 'quic.test']],
      { 'quic.test': ['127.0.0.1'] },
    )
    const initial = Buffer.concat([Buffer.from([0xc3, 0, 0, 0, 1]), Buffer.alloc(1_195)])

    send(frameToName('quic.test', echo.port, initial))
    await settle()

    expect(echo.received.every((text) => text.startsWith('settled'))).toBe(true)
    expect(decisions[0]).toMatchObject({ decision: 'deny', reason: 'default_deny' })
  })

  it('are never the proxy itself, nor an unspecified address, whatever a rule allows', async () => {
    const all: RuleLine = [
      'allow',
      'connect:udp',
      '0.0.0.0/0',
      '127.0.0.0/8',
      '0.0.0.0',
      '::',
      '::1',
    ]
    const { send, settle, port, relay, echo, decisions } = await start([all])
    const other = await associate(port)
    await settle()
    const outbound = echo.senders[0]?.port ?? 0

    send(frameTo(HOST, other.relay, 'x'))
    send(frameTo(HOST, relay, 'x'))
    send(frameTo(OTHER, outbound, 'x'))
    send(frameTo([0, 0, 0, 0], echo.port, 'unspecified'))
    send(frameTo([...Buffer.alloc(16)], echo.port, 'unspecified'))
    await settle()

    expect(echo.received).not.toContain('unspecified')
    expect(decisions.slice(1)).toMatchObject(
      Array.from({ length: 5 }, () => ({ decision: 'deny', reason: 'protected_address' })),
    )
  })

  it('are not those whose port became one of the proxy after the decision', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(LOCAL))
    const live = createLiveConnections(active.decide, 10)
    const outbound = createOutbound(
      createUdpPorts(),
      () => {},
      () => {},
    )
    onTestFinished(() => outbound.close())
    let isOwnAddress = false
    const targets = createUdpTargets({
      decide: active.decide,
      resolve: () => Promise.reject(new Error('asked')),
      enter: async () => live.enter(new Socket()),
      outbound,
      isOwnAddress: () => isOwnAddress,
      limits: UDP_LIMITS,
      tell: () => {},
      onError: () => {},
    })
    const echo = await openEcho()
    const pass = (text: string): void =>
      targets.pass({ target: { host: '127.0.0.1', port: echo.port }, payload: Buffer.from(text) })
    pass('one')
    await expect.poll(() => echo.received).toEqual(['one'])

    isOwnAddress = true
    pass('two')
    isOwnAddress = false
    pass('three')

    await expect.poll(() => echo.received).toEqual(['one', 'three'])
    targets.endAll()
    expect(live.size()).toBe(0)
  })

  it('send a name with several addresses to one that is allowed', async () => {
    const { send, program, echo, decisions } = await start([LOCAL, NAMED], {
      'x.a.test': ['127.0.0.2', '169.254.169.254', '127.0.0.1'],
    })

    send(frameToName('x.a.test', echo.port, 'x'))

    await expect.poll(() => program.received).toHaveLength(1)
    expect(decisions).toMatchObject([{ request: { host: 'x.a.test', address: '127.0.0.1' } }])
  })

  it('drop datagrams to a name with denied addresses only, or without any', async () => {
    const { send, settle, resolved, decisions } = await start([LOCAL, NAMED], {
      'x.a.test': ['127.0.0.2'],
    })

    for (let turn = 0; turn < 3; turn += 1) {
      send(frameToName('x.a.test', 9, 'x'))
      send(frameToName('missing.a.test', 9, 'x'))
      await settle()
    }

    expect(resolved).toEqual(['x.a.test', 'missing.a.test'])
    expect(decisions).toMatchObject([
      { decision: 'deny', request: { address: '127.0.0.2' } },
      { decision: 'allow' },
    ])
  })

  it('keep the decided address of a name that changes at once', async () => {
    const names: Record<string, string[]> = { 'x.a.test': ['127.0.0.1'] }
    const { send, program, echo, resolved } = await start([LOCAL, NAMED], names)
    const inner = await openUdp('127.0.0.2', undefined, echo.port)
    send(frameToName('x.a.test', echo.port, 'one'))
    await expect.poll(() => program.received).toHaveLength(1)

    names['x.a.test'] = ['127.0.0.2']
    send(frameToName('x.a.test', echo.port, 'two'))

    await expect.poll(() => echo.received).toEqual(['one', 'two'])
    expect([inner.received, resolved]).toEqual([[], ['x.a.test']])
  })

  it('are decided again after a time, with the same address while it is allowed', async () => {
    const names: Record<string, string[]> = { 'x.a.test': ['127.0.0.1'] }
    const rules: RuleLine[] = [['allow', 'connect:udp', '127.0.0.1', '127.0.0.3'], NAMED]
    const udpLimits = { decidedMs: 0, deniedMs: 60_000 }
    const { send, echo, resolved, decisions } = await start(rules, names, 100, { udpLimits })
    const inner = await openUdp('127.0.0.2', undefined, echo.port)
    const third = await openUdp('127.0.0.3', undefined, echo.port)
    const sendOne = (): void => send(frameToName('x.a.test', echo.port, 'x'))
    sendOne()
    await expect.poll(() => echo.received).toEqual(['x'])

    names['x.a.test'] = ['127.0.0.3', '127.0.0.1']
    sendOne()
    await expect.poll(() => echo.received).toEqual(['x', 'x'])
    names['x.a.test'] = ['127.0.0.2']
    sendOne()
    await expect.poll(() => decisions.at(-1)?.decision).toBe('deny')

    expect(resolved).toHaveLength(3)
    expect([inner.received, third.received]).toEqual([[], []])
  })

  it('get through again some time after the policy allows them', async () => {
    const { send, use, echo, decisions, settle } = await start([LOCAL, NAMED], {}, 100, {
      udpLimits: { deniedMs: 0 },
    })
    const other = await openEcho('127.0.0.2')
    for (let turn = 0; turn < 3; turn += 1) send(frameTo(OTHER, other.port, 'denied'))
    await settle()
    expect(decisions.map(({ decision }) => decision)).toEqual(['deny', 'allow'])

    use(bundleOf(LOCAL, ['allow', 'connect:udp', '127.0.0.2']))
    send(frameTo(OTHER, other.port, 'allowed'))

    await expect.poll(() => other.received).toEqual(['allowed'])
    expect(echo.received).not.toContain('denied')
  })

  it('lose one that a new policy denies, and keep the others', async () => {
    const rules: RuleLine[] = [LOCAL, ['allow', 'connect:udp', '127.0.0.2']]
    const { send, use, ends, settle, control, program } = await start(rules)
    const other = await openEcho('127.0.0.2')
    send(frameTo(OTHER, other.port, 'before'))
    await expect.poll(() => program.received).toHaveLength(1)
    await settle()

    use(bundleOf(LOCAL, ['deny', 'connect:udp', '127.0.0.2']))
    await expect.poll(() => ends).toHaveLength(1)
    send(frameTo(OTHER, other.port, 'after'))
    other.send('late', other.senders[0]?.port ?? 0)
    await settle()

    expect(other.received).toEqual(['before'])
    expect(program.received.some((frame) => frame.endsWith('late'))).toBe(false)
    expect(ends).toMatchObject([
      { decision: { decision: 'deny', reason: 'rule' }, flow: { cause: 'revoked', bytesSent: 6 } },
    ])
    expect(control.socket.destroyed).toBe(false)
  })

  it('reply only from the address and port that were sent to', async () => {
    const { send, echo, program, settle } = await start()
    const [neighbour, elsewhere] = [
      await openUdp(),
      await openUdp('127.0.0.2', undefined, echo.port),
    ]
    send(frameTo(HOST, echo.port, 'x'))
    await expect.poll(() => program.received).toHaveLength(1)
    const outbound = echo.senders[0]?.port ?? 0

    neighbour.send('forged', outbound)
    elsewhere.send('forged', outbound)
    echo.send('true', outbound)
    await settle()

    expect(program.received.filter((frame) => frame.endsWith('forged'))).toEqual([])
    expect(program.received).toContain(frameTo(HOST, echo.port, 'true').toString('latin1'))
  })

  it('share an end that a name and an address lead to, until both are closed', async () => {
    const { send, use, echo, program, ends } = await start([LOCAL, NAMED], {
      'x.a.test': ['127.0.0.1'],
    })
    const arrive = (text: string) =>
      expect.poll(() => program.received.some((frame) => frame.endsWith(text))).toBe(true)
    send(frameTo(HOST, echo.port, 'by address'))
    await arrive('re: by address')
    send(frameToName('x.a.test', echo.port, 'by name'))
    await arrive('re: by name')
    const outbound = echo.senders[0]?.port ?? 0

    use(bundleOf(LOCAL, NAMED, ['deny', 'connect:udp', 'x.a.test']))
    await expect.poll(() => ends).toHaveLength(1)
    echo.send('still here', outbound)
    await arrive('still here')
    use(bundleOf(NAMED))
    await expect.poll(() => ends).toHaveLength(2)
    echo.send('too late', outbound)
    use(bundleOf(['allow', 'connect:udp', '127.0.0.2']))
    const other = await openEcho('127.0.0.2')
    send(frameTo(OTHER, other.port, 'done'))
    await arrive('done')

    expect(ends.map(({ flow }) => flow?.bytesReceived)).toEqual([
      're: by name'.length,
      're: by addressstill here'.length,
    ])
    expect(program.received.some((frame) => frame.endsWith('too late'))).toBe(false)
  })

  it('make room for new ones: the least recently used one is closed', async () => {
    const { send, ends, settle } = await start([LOCAL], {}, 100, { udpLimits: { targets: 2 } })
    const [first, second] = [await openEcho(), await openEcho()]
    await settle()
    send(frameTo(HOST, first.port, 'x'))
    await expect.poll(() => first.received).toEqual(['x'])
    await settle()

    send(frameTo(HOST, second.port, 'x'))

    await expect.poll(() => second.received).toEqual(['x'])
    expect(ends).toMatchObject([
      { decision: { request: { port: first.port } }, flow: { cause: 'closed', bytesSent: 1 } },
    ])
  })

  it('each take a slot of the proxy until they are idle', async () => {
    const { send, ends, live, settle, echo } = await start([LOCAL], {}, 100, {
      udpLimits: { idleMs: 300 },
    })
    const other = await openEcho()
    await settle()
    send(frameTo(HOST, other.port, 'x'))
    await expect.poll(() => other.received).toEqual(['x'])

    await expect.poll(() => live.size()).toBe(1)
    expect(new Set(ends.map(({ flow }) => flow?.cause))).toEqual(new Set(['idle']))
    expect(new Set(ends.map(({ decision }) => portOf(decision)))).toEqual(
      new Set([echo.port, other.port]),
    )
    await settle()
  })

  it("beyond the program's share of the slots are dropped", async () => {
    const { send, live, settle, errors } = await start([LOCAL], {}, 16)
    const echoes = await Promise.all(Array.from({ length: 6 }, () => openEcho()))
    await settle()

    for (const { port } of echoes) send(frameTo(HOST, port, 'x'))
    await expect.poll(() => live.size()).toBe(4)
    await settle()

    // One slot is that of the association, and one that of the datagrams for `settle`.
    expect(echoes.filter(({ received }) => received.length > 0)).toHaveLength(2)
    expect([live.size(), errors]).toEqual([4, []])
  })

  it('wait for their decision within bounds of count and bytes', async () => {
    let answer = (): void => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    const { send, settle, echo, resolved, program } = await start(
      [LOCAL, NAMED],
      Object.fromEntries(['x.a.test', 'y.a.test', 'z.a.test'].map((name) => [name, ['127.0.0.1']])),
      100,
      { resolveAfter: answered, udpLimits: { undecided: 2, heldBytes: 400 } },
    )
    for (let turn = 0; turn < 10; turn += 1) send(frameToName('x.a.test', echo.port, ''))
    send(frameToName('y.a.test', echo.port, 'y'))
    send(frameToName('z.a.test', echo.port, 'z'))
    await expect.poll(() => resolved).toEqual(['x.a.test', 'y.a.test'])

    answer()
    await settle()

    expect(echo.received.filter((text) => text === '')).toHaveLength(6)
    expect(echo.received).not.toContain('z')
    expect(program.received.length).toBeGreaterThan(0)
  })
})

import { describe, expect, it } from 'vitest'
import type { MachineDecision } from '../../../../agent/src/policy/decision/active-policy.ts'
import type { PointProtocol } from '../../../../agent/src/enforcement/enforcement-event.ts'
import { bundleOf } from '../../fixture/bundle.ts'
import { startTcpServer } from '../../fixture/proxy.ts'
import { startFaultyProxy, type Fault } from './faulty-proxy.ts'
import { startPoint } from './proxy-scene.ts'

const PASSED = {
  at: '2026-11-21T12:00:00.000Z',
  ok: true,
  detail: 'the allowed canary passed, the refused one was denied',
}

describe('the self-probe of the proxy', () => {
  it.each([
    ['allows nothing', bundleOf(['deny', 'connect:tcp', 'example.com'])],
    ['allows the domain of the canaries', bundleOf(['allow', 'connect:tcp', '**.internal'])],
    [
      'allows every address',
      bundleOf(['allow', 'connect:tcp', '0.0.0.0/0', '127.0.0.0/8', '**.internal']),
    ],
    ['is missing', null],
  ])('passes when the policy %s, and leaves no trace outside', async (_, bundle) => {
    const { canaries, decisions, dialled, ends, probe, resolved } = await startPoint(bundle)

    expect(await probe()).toEqual(PASSED)
    expect(resolved).toEqual([])
    expect([...dialled]).toEqual(['127.0.0.1'])
    expect(decisions.map(({ decision, request }) => `${decision} ${request?.action}`)).toEqual([
      ...Array.from({ length: 3 }, () => ['deny connect:tcp', 'allow connect:tcp']).flat(),
      'deny connect:udp',
      'allow connect:udp',
    ])
    await expect.poll(() => ends.length, { timeout: 60_000 }).toBe(3)
    expect([...decisions, ...ends].every((decision) => canaries.isOwn(decision))).toBe(true)
  })

  it.each([[true], [false]])(
    'passes beside a parent proxy (which resolves: %s) that carries no datagrams',
    async (resolves) => {
      const { dialled, probe, resolved } = await startPoint(null, { parent: { resolves } })

      expect(await probe()).toEqual(PASSED)
      expect(resolved).toEqual([])
      expect([...dialled]).toEqual(['127.0.0.1'])
    },
  )

  it('fails when datagrams could bypass the parent proxy', async () => {
    const { port, probe } = await startPoint(null)

    expect(await probe(port, { carriesDatagrams: false })).toMatchObject({
      ok: false,
      detail: 'socks5_udp: datagrams were not refused beside the parent proxy: reply 0',
    })
  })

  it.each([
    ['everything', undefined, /^connect: the refused canary was not denied: /],
    ['all datagrams', 'connect:udp', /^socks5_udp: the refused canary was reached$/],
  ])('fails when the proxy allows %s', async (_, action, detail) => {
    const { probe, resolved } = await startPoint(null, {
      broken: (decide) => (request) => {
        const made = decide(request)
        return action === undefined || made.request?.action === action ? openTo(made) : made
      },
    })

    expect(await probe()).toMatchObject({ ok: false, detail: expect.stringMatching(detail) })
    expect(resolved).toEqual([])
  })

  it('fails when the refused name is resolved before it is denied', async () => {
    const { probe, resolved } = await startPoint(null, {
      broken: (decide) => (request) => ({ ...decide(request), address_required: true }),
    })

    expect(await probe()).toMatchObject({
      ok: false,
      detail: 'connect: the refused canary was resolved',
    })
    expect(resolved).toEqual([])
  })

  it('fails when the proxy denies everything', async () => {
    const { probe } = await startPoint(null, {
      broken: (decide) => (request) => close(decide(request)),
    })

    expect(await probe()).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^connect: the allowed canary did not pass: it was denied$/),
    })
  })

  const DENIED: Fault = 'refuses'
  it.each<[PointProtocol, Fault, string]>([
    ['connect', 'allows', 'the refused canary was not denied: a connection was opened'],
    ['http', 'allows', 'the refused canary was not denied: HTTP/1.1 404 Not Found'],
    ['socks5', 'allows', 'the refused canary was not denied: a connection was opened'],
    ['socks5_udp', 'allows', 'the refused canary was reached'],
    ['connect', DENIED, 'the allowed canary did not pass: it was denied'],
    ['http', DENIED, 'the allowed canary did not pass: it was denied'],
    ['socks5', DENIED, 'the allowed canary did not pass: it was denied'],
    ['socks5_udp', DENIED, 'there is no association: reply 2'],
    ['socks5_udp', 'ends', 'the allowed canary did not pass: no datagram came back'],
    ['connect', 'lies', 'the allowed canary was answered with other bytes'],
    ['http', 'lies', 'the allowed canary was answered with other bytes'],
    ['socks5', 'lies', 'the allowed canary was answered with other bytes'],
    ['socks5_udp', 'lies', 'the allowed canary was answered with other bytes'],
  ])('finds a proxy that in the dialect %s %s', async (protocol, fault, problem) => {
    const { port, probe } = await startPoint(null)
    const faulty = await startFaultyProxy(port, protocol, fault)

    expect(await probe(faulty)).toMatchObject({ ok: false, detail: `${protocol}: ${problem}` })
  })

  it('fails when another program has the port, or no program', async () => {
    const { port, probe, proxy } = await startPoint(null)
    const answering = (text: string) => startTcpServer((socket) => socket.end(text))
    const open = await answering('HTTP/1.1 200 OK\r\n\r\n')
    const foreign = await answering('HTTP/1.1 403 No\r\n\r\n')
    const silent = await startTcpServer(() => {})
    const denied = 'connect: the refused canary was not denied'

    expect(await probe(open)).toMatchObject({
      ok: false,
      detail: `${denied}: a connection was opened`,
    })
    expect(await probe(foreign)).toMatchObject({
      ok: false,
      detail: `${denied}: HTTP/1.1 403 No, without a decision`,
    })
    expect(await probe(silent, { timeoutMs: 1_000 })).toMatchObject({
      ok: false,
      // A busy machine may not even connect in this time.
      detail: expect.stringMatching(/no answer|does not answer/),
    })
    await proxy.stop()
    expect(await probe(port)).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^connect: the proxy does not answer: .*ECONNREFUSED/),
    })
  })
})

function openTo(made: MachineDecision): MachineDecision {
  return { ...made, decision: 'allow', reason: 'rule', address_required: true }
}

function close(made: MachineDecision): MachineDecision {
  const { address_required: _, ...rest } = made
  return { ...rest, decision: 'deny', reason: 'default_deny' }
}

import type { ProbeResult } from '@palisade/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MachineDecision } from '../../../../agent/src/decision/active-policy.ts'
import type { PolicyBundle } from '../../../../agent/src/decision/policy-bundle.ts'
import { createCanaries } from '../../../../agent/src/points/probe/canaries.ts'
import { probeProxy, type ProbeDeps } from '../../../../agent/src/points/probe/probe-proxy.ts'
import {
  createProber,
  everyHour,
  type ProbedPoint,
} from '../../../../agent/src/points/probe/prober.ts'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import type { PointProtocol } from '../../../../agent/src/points/point-event.ts'
import { governWithParent } from '../../../../agent/src/proxy/parent/decide-with-parent.ts'
import { createParentProxy } from '../../../../agent/src/proxy/parent/parent-proxy.ts'
import { createProxy, type Proxy } from '../../../../agent/src/proxy/proxy.ts'
import { createDial, type Dial } from '../../../../agent/src/proxy/target/dial.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf, NOW_MS } from '../../fixture/bundle.ts'
import { connectTo, exchangeRaw, PARENT_ACCESS, startTcpServer } from '../../fixture/proxy.ts'
import { startFaultyProxy, type Fault } from './faulty-proxy.ts'

type Decide = (request: unknown) => MachineDecision

interface PointOptions {
  readonly broken?: (decide: Decide) => Decide
  /** A parent proxy that does not exist. */
  readonly parent?: { readonly resolves: boolean }
}

/** A proxy with canaries, and the names and addresses that left it. */
async function startPoint(bundle: PolicyBundle | null, { broken, parent }: PointOptions = {}) {
  const { active, use } = activePolicy()
  if (bundle !== null) use(bundle)
  const canaries = createCanaries()
  const resolved: string[] = []
  const dialled = new Set<string>()
  const decisions: MachineDecision[] = []
  const ends: MachineDecision[] = []
  const resolve = canaries.resolve(async (name) => {
    resolved.push(name)
    return ['127.0.0.1']
  })
  const connectDirectly = createDial(60_000)
  const dial: Dial = (address, port, signal) => {
    dialled.add(address)
    return connectDirectly(address, port, signal)
  }
  const isSelf: Proxy['isSelf'] = (...end) => proxy.isSelf(...end)
  const access = { ...PARENT_ACCESS, host: 'parent.test', port: 3128, ...parent }
  const machine = { machineAddresses: () => [], uptime: () => 0, clock: () => NOW_MS }
  const above =
    parent === undefined
      ? null
      : createParentProxy({ access, resolve, dial, isSelf, timeoutMs: 60_000, ...machine })
  const ruled = above === null ? active : governWithParent(active, above)
  const whole = canaries.decide(ruled.decide)
  const decide = broken === undefined ? whole : broken(whole)
  const proxy: Proxy = createProxy({
    port: 0,
    decide,
    resolve,
    dial,
    parent: above,
    live: createLiveConnections(decide, 10),
    idleMs: 60_000,
    flushTimeoutMs: 60_000,
    maxConnections: 20,
    bodyRate: { bytes: 1, windowMs: 60_000 },
    nearMisses: () => [],
    onEvent: ({ decision, flow }) => (flow === undefined ? decisions : ends).push(decision),
    onError: () => {},
  })
  await proxy.start()
  onTestFinished(() => proxy.stop())
  let count = 0
  const token = (): string => `token${(count += 1)}`
  const deps: ProbeDeps = { canaries, token, clock: () => NOW_MS, carriesDatagrams: above === null }
  const port = Number(new URL(proxy.describe()).port)
  const probe = (through = port, changes: Partial<ProbeDeps> = {}): Promise<ProbeResult> =>
    probeProxy({ ...deps, ...changes }, `http://127.0.0.1:${through}`)
  return { active, canaries, decisions, dialled, ends, port, probe, proxy, resolved }
}

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
    await expect.poll(() => ends.length).toBe(3)
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
    expect(await probe(silent, { timeoutMs: 100 })).toMatchObject({
      ok: false,
      detail: `${denied}: no answer`,
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

describe('the canaries', () => {
  it('open no way for other programs', async () => {
    const { canaries, port, resolved } = await startPoint(bundleOf(['allow', 'read', '/x']))
    let reached = 0
    const answering = await startTcpServer((socket) => {
      reached += 1
      socket.end('here')
    })
    const canary = canaries.open('secret', {
      'connect:tcp': answering,
      'connect:udp': answering,
    })
    const ask = async (authority: string) => (await exchangeRaw(port, connectTo(authority))).status

    expect(await ask(`other.allowed.probe.palisade.internal:${answering}`)).toBe(403)
    expect(await ask(`allowed.probe.palisade.internal:${answering}`)).toBe(403)
    expect(await ask(`x.${canary.allowed}:${answering}`)).toBe(403)
    expect(await ask(`${canary.allowed}:${answering === 1 ? 2 : 1}`)).toBe(403)
    expect(await ask(`${canary.refused}:${answering}`)).toBe(403)
    expect(reached).toBe(0)
    expect(await ask(`${canary.allowed}:${answering}`)).toBe(200)
    expect(reached).toBe(1)

    canary.close()
    expect(await ask(`${canary.allowed}:${answering}`)).toBe(403)
    expect(resolved).toEqual([])
  })

  it('allow only their own address, protocol and port', () => {
    const { active } = activePolicy()
    const canaries = createCanaries()
    const decide = canaries.decide(active.decide)
    const canary = canaries.open('secret', { 'connect:tcp': 7, 'connect:udp': 8 })
    const { allowed: host } = canary
    const tcp = { action: 'connect:tcp', host, port: 7 }
    const udp = { action: 'connect:udp', host, port: 8 }

    for (const request of [tcp, udp]) {
      expect(decide(request)).toMatchObject({ decision: 'allow', address_required: true })
      expect(decide({ ...request, address: '127.0.0.1' }).decision).toBe('allow')
      expect(decide({ ...request, address: '127.0.0.2' }).decision).toBe('deny')
      expect(decide({ ...request, address: '203.0.113.7' }).decision).toBe('deny')
      expect(decide({ ...request, host: canary.refused }).decision).toBe('deny')
    }
    expect(decide({ ...tcp, port: 8 }).decision).toBe('deny')
    expect(decide({ ...udp, port: 7 }).decision).toBe('deny')
    expect(decide({ action: 'read', path: '/x' }).decision).toBe('deny')
    expect(decide(null).decision).toBe('deny')

    canary.close()
    expect(decide(tcp).decision).toBe('deny')
    expect(decide(udp).decision).toBe('deny')
  })

  it('resolve without a query while they are open', async () => {
    const canaries = createCanaries()
    const resolve = canaries.resolve(async () => ['203.0.113.7'])
    const ports = { 'connect:tcp': 7, 'connect:udp': 8 }
    const [canary, other] = [canaries.open('one', ports), canaries.open('two', ports)]

    expect(await resolve(canary.allowed)).toEqual(['127.0.0.1'])
    expect(canary.wasRefusedResolved()).toBe(false)
    expect(await resolve(canary.refused)).toEqual(['127.0.0.1'])
    expect([canary.wasRefusedResolved(), other.wasRefusedResolved()]).toEqual([true, false])
    expect(await resolve('example.com')).toEqual(['203.0.113.7'])

    canary.close()
    expect(await resolve(canary.allowed)).toEqual(['203.0.113.7'])
    expect(await resolve(canary.refused)).toEqual(['203.0.113.7'])
  })

  it('deny the refused name by a rule, whatever the organization allows', () => {
    const { active, use } = activePolicy()
    use(bundleOf(['allow', 'connect:tcp', '**.internal', 'denied.probe.palisade.internal']))
    const request = { action: 'connect:tcp', host: 'denied.probe.palisade.internal', port: 443 }

    expect(active.decide(request)).toMatchObject({
      decision: 'deny',
      reason: 'rule',
      rules: [{ origin: 'local', policy_name: 'Palisade self-probe' }],
    })
    expect(active.decide({ ...request, host: 'x.internal' }).decision).toBe('allow')
  })
})

describe('the prober', () => {
  it('tests each point at the start and at each tick, and tells only changes', async () => {
    const outcomes = [true, true, false, false, true]
    const changes: unknown[] = []
    let tick = (): void => {}
    const point: ProbedPoint = {
      name: 'proxy',
      start: async () => {},
      stop: async () => {},
      describe: () => '',
      probe: async () => ({ at: '', ok: outcomes.shift() === true, detail: '' }),
    }
    const prober = createProber({
      points: [point],
      timetable: { start: (onTick) => void (tick = onTick), stop: () => {}, nextAt: () => null },
      onChange: () => changes.push(prober.results().proxy?.ok),
      log: { error: () => {}, info: () => {} },
    })

    expect(prober.results()).toEqual({ proxy: null })
    prober.start()
    for (const left of [3, 2, 1, 0]) {
      await expect.poll(() => outcomes.length).toBe(left + 1)
      await new Promise((resolve) => setImmediate(resolve))
      tick()
    }
    await prober.stop()

    expect(changes).toEqual([true, false, true])
  })

  it('runs at full hours', () => {
    const [first, second] = everyHour(() => NOW_MS + 1)()

    expect(new Date(first ?? 0).toISOString()).toBe('2026-11-21T13:00:00.000Z')
    expect((second ?? 0) - (first ?? 0)).toBe(3_600_000)
  })
})

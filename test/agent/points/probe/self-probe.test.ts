import type { ProbeResult } from '@palisade/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MachineDecision } from '../../../../agent/src/decision/active-policy.ts'
import type { PolicyBundle } from '../../../../agent/src/decision/policy-bundle.ts'
import { createCanaries } from '../../../../agent/src/points/probe/canaries.ts'
import { probeProxy } from '../../../../agent/src/points/probe/probe-proxy.ts'
import {
  createProber,
  everyHour,
  type ProbedPoint,
} from '../../../../agent/src/points/probe/prober.ts'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import { createProxy } from '../../../../agent/src/proxy/proxy.ts'
import { createDial } from '../../../../agent/src/proxy/target/dial.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf, NOW_MS } from '../../fixture/bundle.ts'
import { connectTo, exchangeRaw, startTcpServer } from '../../fixture/proxy.ts'

type Decide = (request: unknown) => MachineDecision

/** A proxy with canaries, and the names that left it. */
async function startPoint(bundle: PolicyBundle | null, broken?: (decide: Decide) => Decide) {
  const { active, use } = activePolicy()
  if (bundle !== null) use(bundle)
  const canaries = createCanaries()
  const resolved: string[] = []
  const decisions: MachineDecision[] = []
  const decide = broken === undefined ? canaries.decide(active.decide) : broken(active.decide)
  const proxy = createProxy({
    port: 0,
    decide,
    resolve: canaries.resolve(async (name) => {
      resolved.push(name)
      return ['127.0.0.1']
    }),
    dial: createDial(60_000),
    live: createLiveConnections(decide, 10),
    idleMs: 60_000,
    flushTimeoutMs: 60_000,
    maxConnections: 20,
    bodyRate: { bytes: 1, windowMs: 60_000 },
    nearMisses: () => [],
    onEvent: ({ decision, flow }) => flow === undefined && decisions.push(decision),
    onError: () => {},
  })
  await proxy.start()
  onTestFinished(() => proxy.stop())
  let count = 0
  const token = (): string => `token${(count += 1)}`
  const probe = (): Promise<ProbeResult> =>
    probeProxy({ canaries, token, clock: () => NOW_MS }, proxy.describe())
  const port = Number(new URL(proxy.describe()).port)
  return { active, canaries, decisions, port, probe, proxy, resolved }
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
    const { canaries, decisions, probe, resolved } = await startPoint(bundle)

    expect(await probe()).toEqual(PASSED)
    expect(resolved).toEqual([])
    expect(decisions.map(({ decision }) => decision)).toEqual(['deny', 'allow'])
    expect(decisions.every((decision) => canaries.isOwn(decision))).toBe(true)
  })

  it('fails when the proxy allows everything', async () => {
    const { probe } = await startPoint(null, (decide) => (request) => ({
      ...decide(request),
      decision: 'allow',
      reason: 'rule',
      address_required: true,
    }))

    expect(await probe()).toMatchObject({
      ok: false,
      detail: expect.stringContaining('the refused canary was not denied'),
    })
  })

  it('fails when the proxy denies everything', async () => {
    const { probe } = await startPoint(null, (decide) => decide)

    expect(await probe()).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^the allowed canary did not pass: HTTP\/1\.1 403 /),
    })
  })

  it('fails when another program has the port, or none', async () => {
    const { canaries, proxy } = await startPoint(null)
    const deps = { canaries, token: () => 'x', clock: () => NOW_MS }
    const port = await startTcpServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))

    const taken = await probeProxy(deps, `http://127.0.0.1:${port}`)
    await proxy.stop()
    const gone = await probeProxy(deps, proxy.describe())

    expect(taken).toMatchObject({ ok: false, detail: expect.stringContaining('not denied') })
    expect(gone).toMatchObject({ ok: false, detail: expect.stringContaining('ECONNREFUSED') })
  })
})

describe('the canaries', () => {
  it('open no way for other programs', async () => {
    const { canaries, port, resolved } = await startPoint(bundleOf(['allow', 'read', '/x']))
    let reached = 0
    const answering = await startTcpServer((socket) => {
      reached += 1
      socket.end('here')
    })
    const canary = canaries.open('secret', answering)
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

  it('allow only their own address and protocol', () => {
    const { active } = activePolicy()
    const canaries = createCanaries()
    const decide = canaries.decide(active.decide)
    const { allowed: host } = canaries.open('secret', 7)
    const request = { action: 'connect:tcp', host, port: 7 }

    expect(decide(request)).toMatchObject({ decision: 'allow', address_required: true })
    expect(decide({ ...request, address: '127.0.0.1' }).decision).toBe('allow')
    expect(decide({ ...request, address: '127.0.0.2' }).decision).toBe('deny')
    expect(decide({ ...request, address: '203.0.113.7' }).decision).toBe('deny')
    expect(decide({ ...request, action: 'connect:udp' }).decision).toBe('deny')
    expect(decide(null).decision).toBe('deny')
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

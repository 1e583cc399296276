import { describe, expect, it } from 'vitest'
import { createCanaries } from '../../../../agent/src/probe/proxy/canaries.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf } from '../../fixture/bundle.ts'
import { connectTo, exchangeRaw, startTcpServer } from '../../fixture/proxy.ts'
import { startPoint } from './proxy-scene.ts'

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

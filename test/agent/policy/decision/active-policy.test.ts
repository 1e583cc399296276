import { runSteps } from '@palisade/policy-core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { watchAge } from '../../../../agent/src/policy/decision/age-watch.ts'
import { controlPlane } from '../../../../agent/src/policy/decision/offline.ts'
import { describeDenial } from '../../../../agent/src/proxy/denial/describe-denial.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, hoursFromNow, NOW_MS, policyOf } from '../../fixture/bundle.ts'

const HOUR_MS = 3_600_000
const request = { action: 'connect:tcp', host: '203.0.113.7', port: 443 }
const bundle = bundleClaims({
  policies: [policyOf(['allow', 'connect:tcp', '203.0.113.0/24', 'a.test'])],
})

describe('the active policy', () => {
  it('denies everything while there is no bundle', () => {
    const { active } = activePolicy()

    expect(active.decide(request)).toMatchObject({
      decision: 'deny',
      reason: 'no_policy',
      revision: null,
    })
    expect(active.explain(request)).toMatchObject({ decision: 'deny', reason: 'no_policy' })
    expect(active.state()).toBe('never_loaded')
  })

  it('tells the ports that decide about a name, also of the hosts that stay reachable', () => {
    const { active, use } = activePolicy()
    expect(active.decisivePorts('a.test')).toEqual([])
    const { settings } = bundle
    const offline_allow = ['a.test:80', 'a.test:1']
    use({
      ...bundle,
      settings: { ...settings, offline_allow },
      policies: [policyOf(['allow', 'connect:tcp', 'a.test', 'a.test:443'])],
    })

    const ports = active.decisivePorts('a.test')

    expect(ports).toEqual(expect.arrayContaining([1, 80, 443]))
    // Neither policy names the last one.
    expect([1, 80, 443]).not.toContain(ports.at(-1))
    expect(active.decisivePorts('203.0.113.7')).toEqual([1])
  })

  it('reports the revision in force, or null while everything is denied', () => {
    const { active, surroundings, use } = activePolicy()
    const { issued_at, stale_at } = bundle
    const unreadable = { kind: 'unsupported', revision: 8, issued_at, stale_at } as const
    expect(active.inForce()).toEqual({ state: 'never_loaded', revision: null })

    use(bundle)
    expect(active.inForce()).toEqual({ state: 'fresh', revision: 7 })
    active.apply({ kind: 'second_enrolment' })
    expect(active.inForce()).toEqual({ state: 'conflict', revision: null })
    active.apply({ kind: 'single_enrolment' })
    active.apply({ kind: 'verified', bundle: unreadable })
    expect(active.inForce()).toEqual({ state: 'unsupported', revision: null })
    active.apply({ kind: 'revoked' })
    expect(active.inForce()).toEqual({ state: 'revoked', revision: null })
    use(bundle)
    expect(active.inForce()).toEqual({ state: 'revoked', revision: 7 })
    surroundings.nowMs += 169 * HOUR_MS
    expect(active.inForce()).toEqual({ state: 'revoked', revision: 7 })
  })

  it('explains that two organizations claim the machine, except for denies', () => {
    const { active, use } = activePolicy()
    use(
      bundleClaims({
        policies: [
          policyOf(['allow', 'connect:tcp', '203.0.113.0/24'], ['deny', 'connect:tcp', 'b.test']),
        ],
      }),
    )
    active.apply({ kind: 'second_enrolment' })
    const hint = 'two organizations claim this machine, so nothing is allowed'

    expect(active.decide(request)).toMatchObject({ reason: 'no_policy', hint, revision: 7 })
    expect(active.explain(request)).toMatchObject({ reason: 'no_policy', hint, detail: null })
    expect(describeDenial(active.decide(request))).toBe(
      `Palisade: 203.0.113.7:443 denied, ${hint}; run: palisade status`,
    )
    const denied = active.decide({ ...request, host: 'b.test' })
    expect(denied).toMatchObject({ reason: 'rule', hint: null })
  })

  it('decides by the bundle in force and returns its revision', () => {
    const { active, use } = activePolicy()

    use(bundle)

    expect(active.decide(request)).toMatchObject({ decision: 'allow', revision: 7, stale: false })
    expect(active.decide({ ...request, host: '192.0.2.1' })).toMatchObject({
      decision: 'deny',
      reason: 'default_deny',
    })
    expect(active.state()).toBe('fresh')
  })

  it('recompiles the same policies when another input changes', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    const first = active.current()?.compiled
    use({ ...bundle, issued_at: hoursFromNow(1), expires_at: hoursFromNow(200) })
    expect(active.current()?.compiled).toBe(first)

    const { settings } = bundle
    for (const other of [
      { ...bundle, revision: 8 },
      { ...bundle, policies: [...bundle.policies] },
      { ...bundle, settings: { ...settings, offline_allow: ['offline.test'] } },
      { ...bundle, settings: { ...settings, resolve_unlisted_names: true } },
    ]) {
      expect(runSteps(active.compile(other, 'server')).compiled).not.toBe(first)
    }
    surroundings.machineAddresses = ['203.0.113.7']
    expect(runSteps(active.compile(bundle, 'server')).compiled).not.toBe(first)
    expect(active.decide(request)).toMatchObject({ decision: 'deny', reason: 'protected_address' })
  })

  it('marks decisions by a stale bundle, and denies with an expired one', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)

    surroundings.nowMs = NOW_MS + 24 * HOUR_MS
    expect(active.decide(request)).toMatchObject({ decision: 'allow', stale: true })
    expect(active.state()).toBe('stale')

    surroundings.nowMs = NOW_MS + 168 * HOUR_MS
    expect(active.decide(request)).toMatchObject({
      decision: 'deny',
      reason: 'policy_expired',
      revision: 7,
      stale: true,
    })
    expect(active.state()).toBe('expired')
  })

  it('stays expired when the clock is set back', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    surroundings.nowMs = NOW_MS + 200 * HOUR_MS
    active.decide(request)

    surroundings.nowMs = NOW_MS

    expect(active.decide(request).reason).toBe('policy_expired')
  })

  it('ages by elapsed time, whatever the clock shows', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    surroundings.nowMs = NOW_MS - 48 * HOUR_MS

    surroundings.uptimeMs = 24 * HOUR_MS
    expect(active.state()).toBe('stale')
    surroundings.uptimeMs = 168 * HOUR_MS
    expect(active.state()).toBe('expired')
  })

  it('stays expired when the same issue is applied again', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    surroundings.nowMs = NOW_MS + 200 * HOUR_MS
    active.decide(request)

    surroundings.nowMs = NOW_MS
    use(bundle)

    expect(active.decide(request).reason).toBe('policy_expired')
  })

  it('accepts a new bundle after a fast clock was corrected', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    surroundings.nowMs = NOW_MS + 999 * HOUR_MS
    active.decide(request)

    surroundings.nowMs = NOW_MS + HOUR_MS
    use({ ...bundle, issued_at: hoursFromNow(1) })

    expect(active.decide(request).decision).toBe('allow')
  })

  it('denies everything under an unreadable bundle', () => {
    const { active, use } = activePolicy()
    use(bundle)

    const [issued_at, stale_at] = [hoursFromNow(0), hoursFromNow(24)]
    const unreadable = { kind: 'unsupported', revision: 8, issued_at, stale_at } as const
    active.apply({ kind: 'verified', bundle: unreadable })

    expect(active.decide(request)).toMatchObject({
      decision: 'deny',
      reason: 'unsupported_policy',
      revision: 8,
    })
    expect(active.revision()).toBe(8)
  })

  it('protects an address that the machine gets after the bundle was compiled', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    const named = { ...request, host: 'a.test', address: '198.51.100.9' }
    expect(active.decide(named).decision).toBe('allow')

    surroundings.machineAddresses = ['198.51.100.9']

    expect(active.decide(named)).toMatchObject({ decision: 'deny', reason: 'protected_address' })
  })

  it('lets local policies deny but never allow', () => {
    const local = [
      policyOf(['deny', 'connect:tcp', '203.0.113.7'], ['allow', 'connect:tcp', '192.0.2.1']),
    ]
    const { active, use } = activePolicy({ local })
    use(bundle)

    expect(active.decide(request)).toMatchObject({ decision: 'deny', rules: [{ origin: 'local' }] })
    expect(active.decide({ ...request, host: '192.0.2.1' })).toMatchObject({
      decision: 'deny',
      reason: 'default_deny',
    })
  })

  it.each([[null], ['text'], [[]], [{}], [{ action: 'connect:tcp', host: 'a..b', port: 1 }]])(
    'denies %j as an invalid request',
    (bad) => {
      const { active, use } = activePolicy()
      use(bundle)

      expect(active.decide(bad)).toMatchObject({
        decision: 'deny',
        reason: 'invalid_request',
        request: null,
      })
    },
  )
})

describe('an expired bundle', () => {
  const offline = bundleClaims({
    settings: { resolve_unlisted_names: true, offline_allow: ['mirror.test', '198.51.100.1:53'] },
    policies: [
      policyOf(
        [
          'allow',
          'connect:tcp',
          '*.test',
          '198.51.100.1',
          'control.test',
          'mirror.test',
          '0.0.0.0/0',
        ],
        ['deny', 'connect:tcp', 'mirror.test:25'],
      ),
    ],
  })
  const ask = (host: string, port: number, address?: string) => ({
    action: 'connect:tcp',
    host,
    port,
    ...(address === undefined ? {} : { address }),
  })

  const hasAddress = (asked: object): boolean =>
    'address' in asked || ('host' in asked && asked.host === '198.51.100.1')

  it.each([
    ['the server', ask('control.test', 8420), 'allow', 'rule'],
    ['another port of the server', ask('control.test', 443), 'deny', 'policy_expired'],
    ['a listed host', ask('mirror.test', 443), 'allow', 'rule'],
    ['the address of a listed host', ask('mirror.test', 443, '203.0.113.9'), 'allow', 'rule'],
    ['a listed host that a rule denies', ask('mirror.test', 25), 'deny', 'rule'],
    ['a listed address', ask('198.51.100.1', 53), 'allow', 'rule'],
    ['another port of a listed address', ask('198.51.100.1', 54), 'deny', 'policy_expired'],
    [
      'a protected address of a listed name',
      ask('mirror.test', 443, '127.0.0.1'),
      'deny',
      'protected_address',
    ],
    ['a host allowed before the expiry', ask('a.test', 443), 'deny', 'policy_expired'],
    ['a name that only an address would open', ask('other.example', 22), 'deny', 'policy_expired'],
    ['a path', { action: 'read', path: '/data' }, 'deny', 'policy_expired'],
    ['an invalid request', ask('a..b', 1), 'deny', 'invalid_request'],
  ])('answers for %s', (_what, asked, decision, reason) => {
    const { active, surroundings, use } = activePolicy()
    use(offline)
    surroundings.nowMs = NOW_MS + 168 * HOUR_MS

    const answer = active.decide(asked)

    expect(answer).toMatchObject({ decision, reason, stale: true, revision: 7 })
    // A name that may not be reached must not be resolved either.
    expect(answer.address_required ?? false).toBe(decision === 'allow' && !hasAddress(asked))
    expect(active.explain(asked)).toMatchObject({ decision, reason })
  })

  it('does not allow a listed host that the bundle itself does not allow', () => {
    const { active, surroundings, use } = activePolicy()
    use({ ...offline, policies: [policyOf(['allow', 'connect:tcp', 'a.test'])] })

    expect(active.decide(ask('mirror.test', 443)).decision).toBe('deny')
    surroundings.nowMs = NOW_MS + 168 * HOUR_MS
    expect(active.decide(ask('mirror.test', 443)).decision).toBe('deny')
    expect(active.decide(ask('control.test', 8420)).decision).toBe('deny')
  })

  it('uses the list of the bundle in force, the same or another one', () => {
    const { active, surroundings, use } = activePolicy()
    const open = (): boolean[] =>
      ['mirror.test', 'other.test'].map(
        (host) => active.decide(ask(host, 443)).decision === 'allow',
      )
    const policies = [policyOf(['allow', 'connect:tcp', 'mirror.test', 'other.test'])]
    const listing = (revision: number, ...offline_allow: string[]): void =>
      use({ ...offline, policies, revision, settings: { ...offline.settings, offline_allow } })
    surroundings.nowMs = NOW_MS + 168 * HOUR_MS

    listing(7, 'mirror.test')
    expect(open()).toEqual([true, false])
    listing(8, 'mirror.test')
    expect(open()).toEqual([true, false])
    listing(9, 'other.test')
    expect(open()).toEqual([false, true])
    listing(10)
    expect(open()).toEqual([false, false])
  })

  it('includes the server in rule syntax', () => {
    expect(controlPlane('https://palisade.example')).toEqual(['palisade.example:443'])
    expect(controlPlane('http://palisade.example')).toEqual(['palisade.example:80'])
    expect(controlPlane('http://127.0.0.1:8420')).toEqual(['127.0.0.1:8420'])
    expect(controlPlane('http://[2001:db8::1]:8420')).toEqual(['[2001:db8::1]:8420'])
    expect(controlPlane('http://*.example/')).toEqual([])
  })
})

describe('the age watch', () => {
  function watched() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const scene = activePolicy()
    scene.use(bundle)
    const states: string[] = []
    const checks: string[] = []
    const errors: unknown[] = []
    scene.active.subscribe(() => states.push(scene.active.state()))
    const watch = watchAge(scene.active, scene.clock.now, {
      grantRemainingMs: () => null,
      onCheck: () => checks.push(scene.active.state()),
      onError: (error) => errors.push(error),
    })
    onTestFinished(() => watch.stop())
    const pass = async (ms: number): Promise<void> => {
      scene.surroundings.nowMs += ms
      await vi.advanceTimersByTimeAsync(ms)
    }
    return { ...scene, states, checks, errors, pass }
  }

  it('notifies when the bundle becomes stale and when it expires, without a request', async () => {
    const { surroundings, states, pass } = watched()
    for (const [hours, state] of [
      [24, 'stale'],
      [168, 'expired'],
    ] as const) {
      surroundings.nowMs = NOW_MS + hours * HOUR_MS - 20_001
      await pass(30_000)
      expect(states.at(-1)).toBe(state)
    }
    expect(states).toEqual(['stale', 'expired'])
  })

  it('continues after a failed check', async () => {
    const { surroundings, checks, errors, pass } = watched()
    const failure = new Error('no descriptor is left')
    Object.defineProperty(surroundings, 'machineAddresses', {
      configurable: true,
      get: () => {
        throw failure
      },
    })

    await pass(30_000)
    expect(errors).toEqual([failure])
    Object.defineProperty(surroundings, 'machineAddresses', { value: [] })
    await pass(30_000)

    expect(checks).toEqual(['fresh'])
    expect(errors).toHaveLength(1)
  })

  it('notices within a minute that the clock was set past the expiry', async () => {
    const { surroundings, states } = watched()
    surroundings.nowMs = NOW_MS + 169 * HOUR_MS

    await vi.advanceTimersByTimeAsync(60_000)

    expect(states).toEqual(['expired'])
  })
})

import type { Policy, Rule } from '@palisade/policy-core'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { MachineDecision } from '../../../../agent/src/policy/decision/active-policy.ts'
import { watchAge } from '../../../../agent/src/policy/decision/age-watch.ts'
import type { PolicyBundle } from '../../../../agent/src/policy/decision/policy-bundle.ts'
import { listPolicies } from '../../../../agent/src/local-api/list-policies.ts'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import { recheckOnChange } from '../../../../agent/src/proxy/admission/recheck-on-change.ts'
import { followPolicy } from '../../../../agent/src/sandbox/follow-policy.ts'
import { createDeniesReader } from '../../../../agent/src/sandbox/view/view-plan.ts'
import { pathDenies } from '@palisade/policy-core'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, hoursFromNow, NOW_MS } from '../../fixture/bundle.ts'

const HOUR_MS = 3_600_000
const REQUEST = { action: 'connect:tcp', host: 'a.test', port: 443 }
const OTHER = { action: 'connect:tcp', host: 'b.test', port: 443 }

function rule(id: string, resource: string, hours: number | null, decision = 'allow'): Rule {
  return {
    id,
    name: id,
    actions: [resource.startsWith('/') ? 'read' : 'connect:tcp'],
    decision: decision as 'allow',
    resources: [resource],
    ...(hours === null ? {} : { expires_at: hoursFromNow(hours) }),
  }
}

function bundle(
  rules: readonly Rule[],
  {
    mode,
    ...settings
  }: { mode?: string; default?: string } & Partial<PolicyBundle['settings']> = {},
): PolicyBundle {
  const policy: Policy = { id: 'pol_1', name: 'web', allowlist_v0: { rules } }
  return bundleClaims({
    policies: [mode === undefined ? policy : { ...policy, mode }],
    settings: { resolve_unlisted_names: false, offline_allow: [], ...settings },
  })
}

describe('a rule that expires', () => {
  it('decides until its instant of the trusted time, and no clock brings it back', () => {
    const { active, clock, surroundings, use } = activePolicy()
    use(bundle([rule('r1', 'a.test', 1)]))

    expect(active.decide(REQUEST)).toMatchObject({ decision: 'allow', reason: 'rule' })
    surroundings.nowMs = NOW_MS + HOUR_MS - 1
    expect(active.decide(REQUEST)).toMatchObject({ decision: 'allow' })
    surroundings.nowMs = NOW_MS + HOUR_MS
    expect(active.decide(REQUEST)).toMatchObject({ decision: 'deny', reason: 'default_deny' })
    surroundings.nowMs = NOW_MS
    expect(clock.now()).toBe(NOW_MS + HOUR_MS)
    expect(active.decide(REQUEST)).toMatchObject({ decision: 'deny', reason: 'default_deny' })
    expect(active.explain(REQUEST).matched).toMatchObject([{ expired: true, active: false }])
  })

  it('expires by elapsed time when the wall clock stands still', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle([rule('r1', 'a.test', 1)]))

    surroundings.uptimeMs += HOUR_MS

    expect(active.decide(REQUEST)).toMatchObject({ decision: 'deny' })
  })

  it('is listed as expired', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle([rule('r1', 'a.test', 1), rule('r2', 'b.test', 2, 'deny')]))
    const listed = () => [...listPolicies(active)].slice(1)

    expect(listed()).toMatchObject([
      { active: true, expires_at: hoursFromNow(1) },
      { active: true },
    ])
    surroundings.nowMs += 2 * HOUR_MS
    expect(listed()).toMatchObject([
      { active: false, inactive_reason: 'expired' },
      { active: false, inactive_reason: 'expired' },
    ])
  })

  it('keeps no denies for sandboxes beyond its expiry', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle([rule('r1', '/data/**', null), rule('r2', '/data/secret', 1, 'deny')]))
    const deniesOf = createDeniesReader(pathDenies)
    const isDenied = (): boolean => {
      const enforced = active.enforced()
      if (enforced.kind === 'nothing') throw new Error('no policy')
      return deniesOf(enforced.bundle.compiled).at('/data/secret').denies.read
    }

    expect(isDenied()).toBe(true)
    surroundings.nowMs += HOUR_MS
    expect(isDenied()).toBe(false)
    expect(active.decide({ action: 'read', path: '/data/secret' }).decision).toBe('allow')
  })
})

describe('at the expiry of a rule, without any request', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  function watched() {
    const scene = activePolicy()
    scene.use(bundle([rule('r1', 'a.test', 0.001), rule('r2', 'b.test', 0.002)]))
    const watch = watchAge(scene.active, scene.clock.now, {
      grantRemainingMs: () => null,
      onCheck: () => {},
      onError: (error) => {
        throw error
      },
    })
    onTestFinished(() => watch.stop())
    const pass = async (ms: number): Promise<void> => {
      scene.surroundings.nowMs += ms
      await vi.advanceTimersByTimeAsync(ms)
    }
    return { ...scene, pass }
  }

  it('closes the connections that it alone allowed, and no others', async () => {
    const { active, pass } = watched()
    const live = createLiveConnections(active.decide, 10)
    const closed: (MachineDecision | null)[] = []
    const stop = recheckOnChange({
      active,
      live,
      uptime: () => 0,
      log: { info: () => {} },
      onError: (error) => {
        throw error
      },
    })
    onTestFinished(stop)
    for (const request of [REQUEST, OTHER])
      live.enter(null)?.guard(request, (denial) => closed.push(denial))

    await pass(3599)
    expect(closed).toEqual([])
    await pass(1)
    expect(closed).toMatchObject([{ reason: 'default_deny', request: { host: 'a.test' } }])
    expect(live.size()).toBe(1)
    await pass(3600)
    expect(live.size()).toBe(0)
  })

  it('applies the policy to running sandboxes', async () => {
    const { active, pass } = watched()
    let applied = 0
    const stop = followPolicy({
      active,
      sandboxes: {
        all: () => {
          applied += 1
          return []
        },
      },
      deniesOf: createDeniesReader(pathDenies),
      graceMs: 0,
      log: { warn: () => {} },
      onError: (error) => {
        throw error
      },
    })
    onTestFinished(stop)

    await pass(3600)
    expect(applied).toBe(1)
    await pass(20_000)
    expect(applied).toBe(2)
  })
})

describe('a shadow policy', () => {
  it('decides nothing, and each decision tells what it would decide', () => {
    const { active, use } = activePolicy()
    use(bundle([rule('r1', 'a.test', null)], { mode: 'shadow' }))

    expect(active.decide(REQUEST)).toMatchObject({
      decision: 'deny',
      reason: 'default_deny',
      shadow: { decision: 'allow', reason: 'rule', rules: [{ rule_id: 'r1' }] },
    })
    expect([...listPolicies(active)][1]).toMatchObject({ inactive_reason: 'shadow' })
  })
})

describe('the default `observe`', () => {
  it('allows what no rule matches, and denies as ever', () => {
    const { active, use } = activePolicy()
    use(bundle([rule('r1', 'a.test', null, 'deny')], { default: 'observe' }))

    expect(active.decide(OTHER)).toMatchObject({
      decision: 'allow',
      reason: 'observed',
      address_required: true,
    })
    expect(active.decide(REQUEST)).toMatchObject({ decision: 'deny', reason: 'rule' })
    expect(active.decide({ ...OTHER, address: '127.0.0.1' })).toMatchObject({
      decision: 'deny',
      reason: 'protected_address',
    })
    expect(active.decide({ ...OTHER, port: 0 })).toMatchObject({ reason: 'invalid_request' })
  })

  it.each(['enforce', 'Observe', '', 'later'])('is no `%s`', (standard) => {
    const { active, use } = activePolicy()
    use(bundle([], { default: standard }))

    expect(active.decide(OTHER)).toMatchObject({ decision: 'deny', reason: 'default_deny' })
  })

  it('allows nothing when the bundle has expired, also no host that stays reachable', () => {
    const { active, surroundings, use } = activePolicy()
    const offline_allow = ['a.test', 'b.test']
    use(bundle([rule('r1', 'a.test', null)], { default: 'observe', offline_allow }))

    surroundings.nowMs += 169 * HOUR_MS

    expect(active.decide(REQUEST)).toMatchObject({ decision: 'allow', reason: 'rule' })
    expect(active.decide(OTHER)).toMatchObject({ decision: 'deny', reason: 'policy_expired' })
  })

  it('is not in force without a policy, or where two organizations claim the machine', () => {
    const { active, use } = activePolicy()

    expect(active.decide(OTHER)).toMatchObject({ decision: 'deny', reason: 'no_policy' })
    use(bundle([], { default: 'observe' }))
    active.apply({ kind: 'second_enrolment' })
    expect(active.decide(OTHER)).toMatchObject({ decision: 'deny', reason: 'no_policy' })
  })

  it('ends with the next bundle of the same policies', () => {
    const { active, use } = activePolicy()
    const observing = bundle([], { default: 'observe' })
    use(observing)
    expect(active.decide(OTHER).decision).toBe('allow')

    use({ ...observing, settings: { resolve_unlisted_names: false, offline_allow: [] } })

    expect(active.decide(OTHER)).toMatchObject({ decision: 'deny', reason: 'default_deny' })
  })
})

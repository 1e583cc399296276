import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { watchExpiry } from '../../../agent/src/decision/expiry-watch.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleClaims, hoursFromNow, NOW_MS, policyOf } from '../fixture/bundle.ts'

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

  it('decides by the bundle in force and names its revision', () => {
    const { active, use } = activePolicy()

    use(bundle)

    expect(active.decide(request)).toMatchObject({ decision: 'allow', revision: 7, stale: false })
    expect(active.decide({ ...request, host: '192.0.2.1' })).toMatchObject({
      decision: 'deny',
      reason: 'default_deny',
    })
    expect(active.state()).toBe('fresh')
  })

  it('goes on with a stale bundle and says so, and denies with an expired one', () => {
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

  it('does not come back to life when the clock is set back', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    surroundings.nowMs = NOW_MS + 200 * HOUR_MS
    active.decide(request)

    surroundings.nowMs = NOW_MS

    expect(active.decide(request).reason).toBe('policy_expired')
  })

  it('takes a new bundle after a clock that ran ahead was mended', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    surroundings.nowMs = NOW_MS + 999 * HOUR_MS
    active.decide(request)

    surroundings.nowMs = NOW_MS + HOUR_MS
    use({ ...bundle, issued_at: hoursFromNow(1) })

    expect(active.decide(request).decision).toBe('allow')
  })

  it('denies everything under a bundle that it cannot read', () => {
    const { active, use } = activePolicy()
    use(bundle)

    active.replace({ kind: 'unsupported', revision: 8, issued_at: hoursFromNow(0) })

    expect(active.decide(request)).toMatchObject({
      decision: 'deny',
      reason: 'unsupported_policy',
      revision: 8,
    })
    expect(active.floor()).toEqual({ revision: 8, issued_at: hoursFromNow(0) })
  })

  it('protects an address that the machine got after the bundle came', () => {
    const { active, surroundings, use } = activePolicy()
    use(bundle)
    const named = { ...request, host: 'a.test', address: '198.51.100.9' }
    expect(active.decide(named).decision).toBe('allow')

    surroundings.machineAddresses = ['198.51.100.9']

    expect(active.decide(named)).toMatchObject({ decision: 'deny', reason: 'protected_address' })
  })

  it('lets local policies deny and never allow', () => {
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
    'denies %j as invalid',
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

describe('the expiry watch', () => {
  it('calls when the bundle in force expires', async () => {
    const { active, surroundings, use } = activePolicy()
    const expired = new Promise<void>((resolve) => {
      const watch = watchExpiry(active, () => surroundings.nowMs, resolve)
      use({ ...bundle, expires_at: new Date(NOW_MS + 20).toISOString() })
      setTimeout(() => watch.stop(), 5_000).unref()
    })
    surroundings.nowMs = NOW_MS + 20

    await expired

    expect(active.state()).toBe('expired')
  })

  it('notices within a minute that the clock was set past the expiry', () => {
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { active, surroundings, use } = activePolicy()
    let calls = 0
    const watch = watchExpiry(
      active,
      () => surroundings.nowMs,
      () => (calls += 1),
    )
    use({ ...bundle, expires_at: hoursFromNow(168) })
    surroundings.nowMs = NOW_MS + 169 * 3_600_000

    vi.advanceTimersByTime(60_000)
    watch.stop()

    expect(calls).toBe(1)
  })
})

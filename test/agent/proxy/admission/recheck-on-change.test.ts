import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import { recheckOnChange } from '../../../../agent/src/proxy/admission/recheck-on-change.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, bundleOf, hoursFromNow, policyOf } from '../../fixture/bundle.ts'

const ALLOWING = bundleOf(['allow', 'connect:tcp', '203.0.113.0/24'])
const DENYING = bundleOf(['deny', 'connect:tcp', '203.0.113.0/24'])
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Slots that guard connections to addresses of one network. */
function guardedSlots(count: number) {
  const scene = activePolicy()
  scene.use(ALLOWING)
  const watched = { decided: 0, closed: [] as number[], told: [] as object[], nowMs: 0 }
  const live = createLiveConnections((request) => {
    watched.decided += 1
    watched.nowMs += 1
    return scene.active.decide(request)
  }, 100)
  for (let index = 0; index < count; index += 1)
    live
      .enter(new Socket())
      ?.guard({ action: 'connect:tcp', host: `203.0.113.${index}`, port: 443 }, () =>
        watched.closed.push(index),
      )
  const stop = recheckOnChange({
    active: scene.active,
    live,
    uptime: () => watched.nowMs,
    log: { info: (line: object) => void watched.told.push(line) },
    onError: (error) => {
      throw error
    },
  })
  return { ...scene, watched, live, stop }
}

describe('a live connection', () => {
  it('is not decided again after a poll without a change, or for the same rules', () => {
    const { active, watched, use } = guardedSlots(3)

    active.apply({ kind: 'unchanged' })
    active.apply({ kind: 'away' })
    active.apply({ kind: 'refused' })
    use({ ...ALLOWING, stale_at: hoursFromNow(25) })

    expect(watched.decided).toBe(0)
  })

  it('is decided again, and closed, when the rules change', async () => {
    const { watched, use, live } = guardedSlots(3)

    use(DENYING)

    expect(watched.closed).toEqual([0, 1, 2])
    expect(live.size()).toBe(0)
    await nextTurn()
    expect(watched.told).toEqual([{ closed: 3 }])
  })

  it('is not decided again once the check has ended', async () => {
    const { watched, use, stop } = guardedSlots(3)

    stop()
    use(DENYING)
    await nextTurn()

    expect([watched.decided, watched.closed]).toEqual([0, []])
  })

  it.each([
    ['another organization claims the machine', 'second_enrolment'],
    ['the bundle is no longer readable', 'unreadable'],
  ] as const)('is closed when %s', (_, kind) => {
    const { active, watched } = guardedSlots(1)

    if (kind === 'second_enrolment') active.apply({ kind })
    else
      active.apply({
        kind: 'verified',
        bundle: {
          kind: 'unsupported',
          revision: 8,
          issued_at: hoursFromNow(0),
          stale_at: hoursFromNow(24),
        },
      })

    expect(watched.closed).toEqual([0])
  })

  it('is closed when the bundle expires, or when its target becomes a local address', () => {
    for (const change of ['age', 'address']) {
      const { active, watched, surroundings } = guardedSlots(1)
      if (change === 'age') surroundings.nowMs = Date.parse(hoursFromNow(169))
      else surroundings.machineAddresses = ['203.0.113.0']

      active.apply({ kind: 'unchanged' })

      expect(watched.closed).toEqual([0])
    }
  })

  it('is decided in turns, with other work in between', async () => {
    const { watched, use } = guardedSlots(20)

    use(DENYING)
    const atOnce = watched.closed.length

    expect(atOnce).toBeGreaterThan(0)
    expect(atOnce).toBeLessThan(10)
    for (let turn = 0; turn < 20; turn += 1) await nextTurn()
    expect(watched.closed).toHaveLength(20)
    expect(watched.told).toEqual([{ closed: 20 }])
  })

  it('is decided by the newest rules when they change meanwhile', async () => {
    const { watched, use } = guardedSlots(20)

    use(
      bundleClaims({
        policies: [policyOf(['allow', 'connect:tcp', '203.0.113.0/24', 'other.test'])],
      }),
    )
    use(DENYING)
    for (let turn = 0; turn < 20; turn += 1) await nextTurn()

    expect(watched.closed).toHaveLength(20)
  })
})

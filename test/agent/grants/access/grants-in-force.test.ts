import { describe, expect, it } from 'vitest'
import { grant, idOf } from '../../fixture/access-grant.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { HOUR_MS, policies, setUp, type Scene } from '../../fixture/sync-scene.ts'
import type { Release } from '../../fixture/view-repository.ts'

const REQUEST = { action: 'connect:tcp', host: 'api.test', port: 443 }
const GRANTED = { decision: 'allow', reason: 'rule', rules: [{ origin: 'grant' }] }
const DENIED = { decision: 'deny', reason: 'default_deny', rules: [] }

/** The next assignment, a minute later, of the policies of these tests. */
function offer(scene: Scene, minutes: number, release: Release) {
  return scene.sync(
    scene.repository.release({
      policies,
      revision: 7,
      assignedAtMs: NOW_MS + minutes * 60_000,
      ...release,
    }),
  )
}

async function granted(...grants: readonly unknown[]): Promise<Scene> {
  const scene = await setUp()
  const release = grants.length === 0 ? {} : { grants }
  expect(await offer(scene, 0, release)).toMatchObject({ error: null })
  return scene
}

function restart(scene: Scene, nowMs: number): Promise<Scene> {
  return setUp(scene.directory, scene.repository, nowMs)
}

describe('a grant of the signed assignment', () => {
  it('allows until its end by the trusted time, and no clock brings it back', async () => {
    const scene = await granted(grant())

    expect(scene.active.decide(REQUEST)).toMatchObject(GRANTED)
    scene.setClock(NOW_MS + HOUR_MS - 1)
    expect(scene.active.decide(REQUEST)).toMatchObject(GRANTED)
    scene.setClock(NOW_MS + HOUR_MS)
    expect(scene.active.decide(REQUEST)).toMatchObject(DENIED)
    scene.setClock(NOW_MS)
    expect(scene.active.decide(REQUEST)).toMatchObject(DENIED)
  })

  it('does not allow before its begin', async () => {
    const scene = await granted(grant({ not_before: '2026-11-21T12:10:00Z' }))

    expect(scene.active.decide(REQUEST)).toMatchObject(DENIED)
    scene.setClock(NOW_MS + 10 * 60_000)
    expect(scene.active.decide(REQUEST)).toMatchObject(GRANTED)
  })

  it('goes on after a restart without the server, and ends there too', async () => {
    const scene = await granted(grant())

    const later = await restart(scene, NOW_MS + HOUR_MS - 1000)

    expect(later.active.decide(REQUEST)).toMatchObject(GRANTED)
    later.setClock(NOW_MS + HOUR_MS)
    expect(later.active.decide(REQUEST)).toMatchObject(DENIED)
  })

  it('is not revived by a restart with the clock set back once its end is kept', async () => {
    const scene = await granted(grant())
    scene.setClock(NOW_MS + HOUR_MS)
    await scene.synchronizer.keepTime()

    const later = await restart(scene, NOW_MS)

    expect(later.active.decide(REQUEST)).toMatchObject(DENIED)
  })

  it('begins with the next assignment though no policy has changed', async () => {
    const scene = await granted()
    expect(scene.active.decide(REQUEST)).toMatchObject(DENIED)

    await offer(scene, 1, { grants: [grant()] })

    expect(scene.active.decide(REQUEST)).toMatchObject(GRANTED)
  })

  it('ends with the next assignment that lacks it, also over a restart', async () => {
    const scene = await granted(grant(), grant({ id: idOf('b'), resources: ['b.test'] }))

    await offer(scene, 1, { grants: [grant({ id: idOf('b'), resources: ['b.test'] })] })

    const later = await restart(scene, NOW_MS + 60_000)
    for (const { active } of [scene, later]) {
      expect(active.decide(REQUEST)).toMatchObject(DENIED)
      expect(active.decide({ ...REQUEST, host: 'b.test' })).toMatchObject(GRANTED)
    }
  })

  it('is not revived by an earlier assignment of the same view', async () => {
    const scene = await granted(grant())
    scene.setClock(NOW_MS + 120_000)
    await offer(scene, 2, {})
    expect(scene.active.decide(REQUEST)).toMatchObject(DENIED)

    const outcome = await offer(scene, 1, { grants: [grant()] })

    expect(outcome).toMatchObject({ error: null })
    const later = await restart(scene, NOW_MS + 120_000)
    for (const { active } of [scene, later]) expect(active.decide(REQUEST)).toMatchObject(DENIED)
  })
})

describe('a grant opens nothing', () => {
  it('when a rule denies it, or the address is protected', async () => {
    const scene = await setUp()
    const [web] = policies
    const rules = [
      {
        id: 'rule_deny',
        name: 'deny',
        actions: ['read' as const],
        decision: 'deny' as const,
        resources: ['/data/secret'],
      },
    ]
    await scene.sync(
      scene.repository.release({
        policies: [{ ...web!, allowlist_v0: { domain: 'filesystem', rules } }],
        grants: [
          grant({ action: 'read', resources: ['/data/**'] }),
          grant({ id: idOf('b'), resources: ['127.0.0.1'] }),
        ],
      }),
    )
    const decide = (request: unknown) => scene.active.decide(request).reason

    expect(scene.active.decide({ action: 'read', path: '/data/x' })).toMatchObject(GRANTED)
    expect(decide({ action: 'read', path: '/data/secret' })).toBe('rule')
    expect(scene.active.decide({ action: 'read', path: '/data/secret' }).decision).toBe('deny')
    expect(decide({ action: 'connect:tcp', host: '127.0.0.1', port: 80 })).toBe('protected_address')
  })

  it('once the bundle has expired, not even the server itself', async () => {
    const long = grant({ expires_at: '2026-12-20T12:00:00Z', resources: ['**.test'] })
    const scene = await granted(long)

    scene.setClock(NOW_MS + 8 * 24 * HOUR_MS)

    for (const host of ['api.test', 'control.test'])
      expect(scene.active.decide({ ...REQUEST, host, port: 8420 })).toMatchObject({
        decision: 'deny',
        reason: 'policy_expired',
      })
  })

  it('without a policy, and in a view that this version cannot read', async () => {
    const scene = await setUp()
    expect(scene.active.decide(REQUEST)).toMatchObject({ reason: 'no_policy' })

    await offer(scene, 0, { grants: [grant()], custom: { schema: 2 } })

    expect(scene.active.decide(REQUEST)).toMatchObject({
      decision: 'deny',
      reason: 'unsupported_policy',
    })
  })

  it('once the server has revoked the machine', async () => {
    const scene = await granted(grant())

    scene.active.apply({ kind: 'revoked' })

    expect(scene.active.decide(REQUEST)).toMatchObject(DENIED)
    expect(scene.active.decide({ action: 'read', path: '/data/x' }).decision).toBe('allow')
  })

  it('on the machine of another user, or without one', async () => {
    const scene = await setUp()

    const foreign = await offer(scene, 0, { grants: [grant()], assignment: { user: 'bob' } })

    expect(foreign).toMatchObject({ error: { code: 'wrong_user' } })
    expect(scene.active.decide(REQUEST).decision).toBe('deny')
  })
})

describe('a grant that cannot be read', () => {
  it.each([
    ['an unknown member', { ...grant(), scope: 'all' }],
    ['an unknown action', { ...grant(), action: 'connect:icmp' }],
    ['an invalid resource', grant({ resources: ['api.test:443', '*'] })],
    ['a resource of another domain', grant({ resources: ['/data/**'] })],
    ['an unreadable end', { ...grant(), expires_at: 'never' }],
    ['one use of a path', grant({ action: 'read', resources: ['/data/**'], once: true })],
    ['no object', null],
    ['a repeated id', grant({ id: idOf('b'), resources: ['api.test'] })],
  ])('because of %s opens nothing and closes no other', async (_why, unreadable) => {
    const scene = await granted(grant({ id: idOf('b'), resources: ['b.test'] }), unreadable)

    expect(scene.active.decide(REQUEST)).toMatchObject(DENIED)
    expect(scene.active.decide({ ...REQUEST, host: 'b.test' })).toMatchObject(GRANTED)
    expect(scene.active.current()?.bundle).toMatchObject({ unreadableGrants: 1 })
  })
})

import type { PolicyBody } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { hoursFromNow, policyOf } from '../../fixture/bundle.ts'
import { inForce, policies, request, setUp } from '../../fixture/sync-scene.ts'

const OTHER = { action: 'connect:tcp', host: 'unlisted.test', port: 443 }

/** The policies with an expiry of the first rule. */
function expiring(expires_at: unknown): readonly PolicyBody[] {
  const policy = policyOf(['allow', 'read', '/data/**'])
  const { rules = [], ...set } = policy.allowlist_v0 ?? {}
  const changed = rules.map((rule) => ({ ...rule, expires_at }))
  return [{ ...policy, allowlist_v0: { ...set, rules: changed } }]
}

describe('the mode of a signed target', () => {
  it('takes its policy out of force and back without a new document', async () => {
    const { repository, sync, active } = await inForce()
    const allowed = active.decide(request)
    expect(allowed.decision).toBe('allow')

    await sync(repository.release({ policies, custom: { mode: 'shadow' }, revision: 8 }))
    expect(active.decide(request)).toMatchObject({
      decision: 'deny',
      shadow: { decision: 'allow', reason: 'rule' },
    })

    await sync(repository.release({ policies, custom: { mode: 'enforce' }, revision: 9 }))
    expect(active.decide(request)).toMatchObject({ decision: 'allow', reason: 'rule' })
  })

  it('enforces when it is unknown', async () => {
    const { repository, sync, active } = await inForce()

    await sync(repository.release({ policies, custom: { mode: 'Shadow' }, revision: 8 }))

    const { shadow, decision } = active.decide(request)
    expect([shadow, decision]).toEqual([undefined, 'allow'])
  })
})

describe('the support message of the signed settings', () => {
  const TEXT = 'Ask “us” & <“them”>, "now" \\ at 4711 ☎'

  it('follows the settings, and a text that is not plain is not shown', async () => {
    const { repository, sync, active } = await inForce()
    const texts: unknown[] = []

    for (const [index, support_message] of [TEXT, 'a\u202eb', 7, 'Call us'].entries()) {
      const settings = { support_message } as object
      await sync(repository.release({ policies, settings, revision: 8 + index }))
      texts.push(active.decide(OTHER).support_message)
    }

    expect(texts).toEqual([TEXT, undefined, undefined, 'Call us'])
  })
})

describe('the default of the signed settings', () => {
  it('observes only as `observe`, until it is taken back', async () => {
    const { repository, sync, active } = await inForce()
    const reasons: string[] = []

    for (const [index, settings] of [
      { default: 'observe' },
      { default: 'Observe' },
      { default: 'observe' },
      {},
    ].entries()) {
      await sync(repository.release({ policies, settings, revision: 8 + index }))
      reasons.push(active.decide(OTHER).reason)
    }

    expect(reasons).toEqual(['observed', 'default_deny', 'observed', 'default_deny'])
  })
})

describe('a rule of a signed document that expires', () => {
  it('is in force until then', async () => {
    const { repository, sync, active } = await setUp()
    const read = { action: 'read', path: '/data/x' }

    await sync(repository.release({ policies: expiring(hoursFromNow(1)), revision: 8 }))
    expect(active.decide(read)).toMatchObject({ decision: 'allow' })

    await sync(repository.release({ policies: expiring(hoursFromNow(-1)), revision: 9 }))
    expect(active.decide(read)).toMatchObject({ decision: 'deny', reason: 'default_deny' })
  })

  it.each(['never', '2026-11-26', null, 0])(
    'denies everything for the expiry %j',
    async (value) => {
      const { repository, sync, active } = await setUp()

      await sync(repository.release({ policies: expiring(value), revision: 8 }))

      expect(active.decide({ action: 'read', path: '/data/x' })).toMatchObject({
        decision: 'deny',
        reason: 'unsupported_policy',
      })
    },
  )
})

import { describe, expect, it } from 'vitest'
import { stampEvent } from '../../../../agent/src/records/recorded-event.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, hoursFromNow, policyOf } from '../../fixture/bundle.ts'

const TEXT = 'Ask in #network'
const LOCAL = policyOf(['deny', 'connect:tcp', 'mine.test'])

function inForce(expires_at = hoursFromNow(168)) {
  const { active, use } = activePolicy({ local: [{ ...LOCAL, id: 'local_network' }] })
  const settings = { resolve_unlisted_names: false, offline_allow: [], support_message: TEXT }
  const rules = policyOf(
    ['allow', 'connect:tcp', 'open.test', '**.mine.test', 'mine.test'],
    ['deny', 'connect:tcp', 'shut.test'],
  )
  use(bundleClaims({ policies: [rules], settings, expires_at }))
  return active
}

const request = (host: string, address?: string) => ({
  action: 'connect:tcp',
  host,
  port: 443,
  ...(address === undefined ? {} : { address }),
})

describe('the support message of the organization', () => {
  it.each([
    ['a rule', request('shut.test')],
    ['no rule', request('other.test')],
    ['a protected address', request('open.test', '127.0.0.1')],
  ])('is in a denial by %s', (_cause, asked) => {
    const active = inForce()

    expect(active.decide(asked)).toMatchObject({ decision: 'deny', support_message: TEXT })
    expect(active.explain(asked)).toMatchObject({ decision: 'deny', support_message: TEXT })
  })

  it.each([
    ['an allow', inForce(), request('open.test', '192.0.2.1')],
    ["a user's own deny", inForce(), request('mine.test')],
    ['an invalid request', inForce(), request('a b')],
    ['a denial by expiry', inForce(hoursFromNow(-1)), request('open.test')],
    ['a machine without policy', activePolicy().active, request('other.test')],
  ])('is not in %s', (_cause, active, asked) => {
    expect(active.decide(asked)).not.toHaveProperty('support_message')
    expect(active.explain(asked)).not.toHaveProperty('support_message')
  })

  it('is not recorded', () => {
    const decision = inForce().decide(request('shut.test'))
    const event = { point: 'proxy', protocol: 'connect', decision, client: null } as const

    expect(stampEvent(event, 0).decision).not.toHaveProperty('support_message')
    expect(stampEvent(event, 0).decision).toMatchObject({ decision: 'deny', reason: 'rule' })
  })
})

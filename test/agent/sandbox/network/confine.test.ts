import { describe, expect, it } from 'vitest'
import { createConfine } from '../../../../agent/src/sandbox/network/confine.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'

const ALL: RuleLine = ['allow', 'connect:tcp', '0.0.0.0/0', '::/0', '127.0.0.0/8', '::1', '**.test']
const NAMES: RuleLine = [
  'allow',
  'connect:tcp',
  'localhost',
  'x.localhost',
  'host.sandbox.internal',
]

function decide(request: { host: string; address?: string }, ...rules: readonly RuleLine[]) {
  const { active, use } = activePolicy()
  use(bundleOf(...(rules.length > 0 ? rules : [ALL, NAMES])))
  return createConfine()(active.decide({ action: 'connect:tcp', port: 443, ...request }))
}

describe('within a sandbox', () => {
  it.each([
    { host: '198.18.0.1' },
    { host: '198.19.255.255' },
    { host: '::ffff:198.18.0.1' },
    { host: 'a.test', address: '198.18.0.1' },
    { host: '127.0.0.1' },
    { host: '127.1.2.3' },
    { host: '2130706433' },
    { host: '::1' },
    { host: '::ffff:127.0.0.1' },
    { host: 'localhost' },
    { host: 'x.localhost' },
    { host: 'localhost', address: '127.0.0.1' },
    { host: 'a.test', address: '127.0.0.1' },
    { host: 'a.test', address: '::1' },
    { host: 'host.sandbox.internal', address: '198.18.0.1' },
  ])('no rule opens $host $address', (request) => {
    const decision = decide(request)

    expect(decision).toMatchObject({ decision: 'deny', reason: 'protected_address', rules: [] })
    expect(decision).not.toHaveProperty('address_required')
  })

  it.each([
    { host: '203.0.113.1' },
    { host: '198.17.255.255' },
    { host: '198.20.0.0' },
    { host: 'a.test', address: '203.0.113.1' },
    { host: 'host.sandbox.internal', address: '127.0.0.1' },
    { host: 'host.sandbox.internal', address: '::1' },
  ])('a rule opens $host $address', (request) => {
    expect(decide(request)).toMatchObject({ decision: 'allow' })
  })

  it('the machine needs its address, even if a parent proxy resolves names', () => {
    const { active, use } = activePolicy()
    use(bundleOf(NAMES))
    const request = { action: 'connect:tcp', host: 'host.sandbox.internal', port: 80 }
    const { address_required: _, ...named } = active.decide(request)

    expect(createConfine()(named)).toMatchObject({ decision: 'allow', address_required: true })
  })

  it('a denial by a rule keeps its rule', () => {
    const deny: RuleLine = ['deny', 'connect:tcp', '127.0.0.0/8']

    expect(decide({ host: '127.0.0.1' }, deny)).toMatchObject({
      decision: 'deny',
      reason: 'rule',
      rules: [{ rule_id: 'rule_1' }],
    })
  })
})

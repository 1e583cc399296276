import { describe, expect, it } from 'vitest'
import { connectionsOnly } from '../../../agent/src/local-api/connections-only.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleClaims, policyOf } from '../fixture/bundle.ts'

describe('an agent for all users', () => {
  const { active, use } = activePolicy()
  use(
    bundleClaims({
      policies: [
        policyOf(['allow', 'read', '/**'], ['allow', 'write', '/**']),
        { ...policyOf(['allow', 'connect:tcp', 'good.test']), id: 'pol_2' },
      ],
    }),
  )
  const { decide, explain } = connectionsOnly(active)

  it.each(['read', 'write'])('denies to %s any file, with the reason', (action) => {
    const denied = { decision: 'deny', hint: expect.stringContaining('connections only') }

    expect(decide({ action, path: '/data/x' })).toMatchObject(denied)
    expect(explain({ action, path: '/data/x' })).toMatchObject(denied)
  })

  it('decides connections by the policy', () => {
    const request = { action: 'connect:tcp', host: 'good.test', port: 443 }

    expect(decide(request)).toEqual(active.decide(request))
    expect(decide({ ...request, host: 'bad.test' })).toMatchObject({ reason: 'default_deny' })
    expect(explain(request)).toEqual(active.explain(request))
  })

  it.each([null, 'read', {}, { action: 'fly' }])('denies the broken request %j', (request) => {
    expect(decide(request)).toMatchObject({ decision: 'deny', reason: 'invalid_request' })
  })
})

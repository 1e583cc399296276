import type { PolicySet } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policy-core/policies.ts'
import { shrinkSet } from './shrink.ts'

const SET: PolicySet = {
  policies: [
    policy('pol_1', rule('rule_1', 'allow', ['read'], '/a', '/b', '/c')),
    policy('pol_2', rule('rule_2', 'deny', ['read'], '/d'), rule('rule_3', 'deny', ['read'], '/e')),
  ],
  local: [policy('own_1', rule('rule_4', 'allow', ['read'], '/f'))],
  home: '/home/dev',
}

function has(set: PolicySet, ...resources: string[]): boolean {
  return resources.every((resource) => JSON.stringify(set).includes(`"${resource}"`))
}

describe('shrinkSet', () => {
  it('keeps exactly the resources that a failure needs, in any position', () => {
    const smallest = shrinkSet(
      SET,
      (set) => has(set, '/b', '/f'),
      () => true,
    )

    expect(smallest).toEqual({
      policies: [policy('pol_1', rule('rule_1', 'allow', ['read'], '/b'))],
      local: SET.local,
      home: '/home/dev',
    })
  })

  it('removes everything when a failure needs no resource', () => {
    const smallest = shrinkSet(
      SET,
      () => true,
      () => true,
    )

    expect(smallest).toMatchObject({ policies: [], local: [] })
  })

  it('stops when the time is up, with a set that still fails', () => {
    let left = 3

    const smaller = shrinkSet(
      SET,
      (set) => has(set, '/e'),
      () => (left -= 1) >= 0,
    )

    expect(has(smaller, '/e')).toBe(true)
  })
})

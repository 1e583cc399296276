import * as core from '@palisade/policy-core'
import { compilePolicy, decide, explain, type Decision } from '@palisade/policy-core'
import { expect, it } from 'vitest'

const connect = { action: 'connect:tcp', host: 'api.example.com', port: 443, address: '192.0.2.7' }
const read = { action: 'read', path: '/home/dev/work/app' }

function createSet() {
  const rule = (id: string, action: 'connect:tcp' | 'read', resource: string) => ({
    id,
    name: id,
    actions: [action],
    decision: 'allow' as const,
    resources: [resource],
  })
  return {
    home: '/home/dev',
    revision: 7,
    machine_addresses: ['198.51.100.1'],
    policies: [
      {
        id: 'pol_1',
        name: 'web',
        allowlist_v0: { rules: [rule('r1', 'connect:tcp', '*.example.com')] },
      },
      { id: 'pol_2', name: 'files', allowlist_v0: { rules: [rule('r2', 'read', '~/work/**')] } },
    ],
  }
}

it('does not change a compiled policy when its source changes', () => {
  const set = createSet()
  const policy = compilePolicy(set)
  const before = [connect, read].map((request) => explain(policy, request))

  set.home = '/'
  set.revision = 8
  set.machine_addresses.push('192.0.2.7')
  for (const {
    allowlist_v0: { rules },
  } of set.policies) {
    for (const rule of rules) {
      Object.assign(rule, { id: 'another', name: 'another', decision: 'deny' })
      rule.actions.length = 0
      rule.resources[0] = '/etc'
    }
    rules.length = 0
  }
  set.policies.length = 0

  expect([connect, read].map((request) => explain(policy, request))).toStrictEqual(before)
})

it.each([connect, read])(
  'gives the same decision after a caller mutated an earlier one: $action',
  (request) => {
    const policy = compilePolicy(createSet())
    const expected = structuredClone(decide(policy, request))

    spoil(decide(policy, request))
    spoil(explain(policy, request))

    expect(decide(policy, request)).toStrictEqual(expected)
    expect(explain(policy, request)).toMatchObject(expected)
  },
)

it('gives the same decision after a caller tried to reverse the list of actions', () => {
  const policy = compilePolicy(createSet())
  const request = { ...connect, action: 'connect:udp' }
  expect(decide(policy, request)).toMatchObject({ decision: 'deny', reason: 'default_deny' })

  const turned = core.NETWORK_ACTIONS.toReversed()
  expect(() => Object.assign(core.NETWORK_ACTIONS, turned)).toThrow(TypeError)

  expect(decide(policy, request)).toMatchObject({ decision: 'deny', reason: 'default_deny' })
})

it('exports no mutable list or table', () => {
  const open = Object.entries<unknown>(core).filter(([, value]) => !Object.isFrozen(value))

  expect(open.filter(([, value]) => typeof value === 'object').map(([name]) => name)).toEqual([])
})

/**
 * Tries to mutate a decision as careless JavaScript may. A frozen part may throw instead of being a
 * copy.
 */
function spoil(decision: Decision): void {
  const { rules, request } = decision
  const changes = [
    () => Object.assign(rules[0] ?? {}, { rule_id: 'spoiled' }),
    () => (rules as unknown[]).pop(),
    () => Object.assign(request ?? {}, { host: 'spoiled', path: '/spoiled' }),
    () => Object.assign(decision, { decision: 'deny' }),
  ]
  for (const change of changes) {
    try {
      change()
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  }
}

import {
  compilePolicy,
  decide,
  PolicyError,
  type Action,
  type Policy,
  type PolicySet,
} from '@palisade/policy-core'
import { describe, expect, test } from 'vitest'
import { policy, rule } from '../policies.ts'

function failureOf(set: PolicySet): PolicyError {
  try {
    compilePolicy(set)
  } catch (error) {
    if (error instanceof PolicyError) return error
  }
  throw new Error('it compiled')
}

const RULE = rule('r', 'allow', ['read'], '/x')

function policyOf(given: unknown): unknown {
  return { id: 'p', name: 'p', allowlist_v0: { rules: [given] } }
}

describe('policies that do not compile', () => {
  test('are reported all at once, with place and mend', () => {
    const set = {
      policies: [
        policy('net', rule('r1', 'allow', ['connect:tcp'], 'ok.test', '*', 'https://x.test/')),
      ],
      local: [policy('mine', rule('r2', 'deny', ['read'], 'data'))],
    }

    const error = failureOf(set)

    expect(error.code).toBe('ERR_POLICY_INVALID')
    expect(error.problems.map((p) => [p.origin, p.policy_id, p.rule_id, p.member])).toEqual([
      ['org', 'net', 'r1', 'resources[1]'],
      ['org', 'net', 'r1', 'resources[2]'],
      ['local', 'mine', 'r2', 'resources[0]'],
    ])
    expect(error.message).toContain('policy `policy net` rule `allow r1` resources[1]')
    expect(error.message).toContain('(and 2 more)')
    expect(error.problems[1]?.message).toContain('write the host alone, such as `x.test`')
  })

  test('are refused whole: one bad rule leaves nothing in force', () => {
    const good = rule('good', 'allow', ['read'], '/**')

    expect(() => compilePolicy({ policies: [policy('a', good), policy('b', rule('bad', 'deny', ['read'], 'x'))] })) // prettier-ignore
      .toThrow(PolicyError)
  })

  test.each<[string, unknown, string]>([
    ['a policy that is no object', null, 'policy'],
    ['an id that is no text', { id: 7, name: 'p' }, 'id'],
    ['a name that is no text', { id: 'p', name: null }, 'name'],
    ['a rule set that is no object', { id: 'p', name: 'p', allowlist_v0: [] }, 'allowlist_v0'],
    ['rules that are no list', { id: 'p', name: 'p', allowlist_v0: {} }, 'allowlist_v0.rules'],
    ['a rule that is no object', policyOf(undefined), 'allowlist_v0.rules[0]'],
    ['a rule without id', policyOf({ ...RULE, id: undefined }), 'id'],
    ['a rule whose name is no text', policyOf({ ...RULE, name: {} }), 'name'],
    ['a resource that is no text', policyOf({ ...RULE, resources: [7] }), 'resources[0]'],
  ])('may come from JavaScript: %s is reported, not thrown as a TypeError', (_, given, member) => {
    const error = failureOf({ policies: [given as Policy] })

    expect(error.code).toBe('ERR_POLICY_INVALID')
    expect(error.problems.map((problem) => problem.member)).toEqual([member])
  })

  test.each<[string, object]>([
    ['`policies`', { policies: 7 }],
    ['`local`', { local: {} }],
    ['`home`', { home: 7 }],
    ['`machine_addresses`', { machine_addresses: '192.0.2.7' }],
    ['`machine_addresses`', { machine_addresses: [7] }],
  ])('may come from JavaScript: %s of the wrong type in %j is an invalid option', (member, set) => {
    const error = failureOf(set)

    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toContain(member)
  })

  test('mix domains between rules', () => {
    const set = {
      policies: [
        policy(
          'p',
          rule('a', 'allow', ['read'], '/a'),
          rule('b', 'allow', ['connect:tcp'], 'b.test'),
        ),
      ],
    }

    expect(failureOf(set).problems).toMatchObject([{ rule_id: 'b', member: 'actions' }])
  })

  test('are refused also when the machine would ignore them', () => {
    const set = { policies: [policy('p', rule('a', 'allow', ['read'], 'a'))], governed: false }

    expect(failureOf(set).problems).toHaveLength(1)
  })
})

describe('options', () => {
  test.each(['home/dev', '/home/dev/', '/home/../dev', '', '/a\0b'])(
    'refuse %j as home',
    (home) => {
      expect(failureOf({ policies: [], home })).toMatchObject({ code: 'ERR_OPTION_INVALID' })
    },
  )

  test.each(['300.1.1.1', '::1%eth0', 'example.com', '[::1]', ''])(
    'refuse %j as a machine address',
    (text) => {
      expect(failureOf({ machine_addresses: [text] }).message).toContain('machine_addresses')
    },
  )

  test('take the root as home', () => {
    const compiled = compilePolicy({
      policies: [policy('p', rule('r', 'allow', ['read'], '~', '~/x'))],
      home: '/',
    })

    expect(decide(compiled, { action: 'read', path: '/' }).decision).toBe('allow')
    expect(decide(compiled, { action: 'read', path: '/x' }).decision).toBe('allow')
    expect(decide(compiled, { action: 'read', path: '/y' }).decision).toBe('deny')
  })

  test('echo the revision in every decision', () => {
    expect(decide(compilePolicy({ policies: [], revision: 412 }), {}).revision).toBe(412)
    expect(decide(compilePolicy({ policies: [] }), {}).revision).toBeNull()
  })
})

test('a compiled policy does not change when its source does', () => {
  const actions: Action[] = ['read']
  const resources = ['/a']
  const source = { id: 'r', name: 'r', decision: 'allow' as const, actions, resources }
  const compiled = compilePolicy({ policies: [policy('p', source)] })

  actions.push('write')
  resources.push('/**')

  expect(decide(compiled, { action: 'read', path: '/a' }).decision).toBe('allow')
  expect(decide(compiled, { action: 'write', path: '/a' }).decision).toBe('deny')
  expect(decide(compiled, { action: 'read', path: '/b' }).decision).toBe('deny')
})

test('rules of equal ids are listed in one order, whatever order they came in', () => {
  const twins = [
    policy('p', rule('r', 'deny', ['read'], '/a', '/b')),
    policy('p', rule('r', 'deny', ['read'], '/a')),
    policy('p', rule('r', 'deny', ['read'], '/**')),
    policy('p', rule('r', 'deny', ['read'], '/a')),
  ]
  const request = { action: 'read', path: '/a' }

  const forward = decide(compilePolicy({ policies: twins }), request)
  const backward = decide(compilePolicy({ policies: twins.toReversed() }), request)

  expect(forward).toEqual(backward)
  expect(forward.rules).toHaveLength(4)
})

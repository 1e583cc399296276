import {
  compilePolicy,
  decide,
  explain,
  PolicyError,
  type Action,
  type CompiledPolicy,
  type CompileOptions,
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

/** An array with one hole. */
function sparse<T>(): T[] {
  return Object.assign([], { length: 1 })
}

describe('invalid policies', () => {
  test('are reported together, with position and correction', () => {
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

  test('are identified by their position when they have no name', () => {
    const set = { policies: [policy('p'), null as unknown as Policy] }

    expect(failureOf(set).message).toBe('policies[1]: `null` is not an object')
  })

  test('may be a hole in a list', () => {
    expect(failureOf({ policies: sparse<Policy>() }).problems[0]?.member).toBe('policies[0]')
  })

  test('are rejected as a whole because of one invalid rule', () => {
    const good = policy('a', rule('good', 'allow', ['read'], '/**'))
    const bad = policy('b', rule('bad', 'deny', ['read'], 'x'))

    expect(() => compilePolicy({ policies: [good, bad] })).toThrow(PolicyError)
  })

  test.each<[string, unknown, string]>([
    ['a policy that is not an object', null, 'policies[0]'],
    ['an id that is not a string', { id: 7, name: 'p' }, 'policies[0].id'],
    ['a name that is not a string', { id: 'p', name: null }, 'policies[0].name'],
    ['a scope that is not an object', { id: 'p', name: 'p', scope: 'all' }, 'scope'],
    ['a misspelt scope', { id: 'p', name: 'p', scope: { team: ['t'] } }, 'scope'],
    ['teams that are not a list', { id: 'p', name: 'p', scope: { teams: 't' } }, 'scope.teams'],
    [
      'a team that is not a string',
      { id: 'p', name: 'p', scope: { teams: ['t', 7] } },
      'scope.teams[1]',
    ],
    ['a rule set that is not an object', { id: 'p', name: 'p', allowlist_v0: [] }, 'allowlist_v0'],
    ['rules that are not a list', { id: 'p', name: 'p', allowlist_v0: {} }, 'allowlist_v0.rules'],
    ['a rule that is not an object', policyOf(undefined), 'allowlist_v0.rules[0]'],
    ['a rule without id', policyOf({ ...RULE, id: undefined }), 'allowlist_v0.rules[0].id'],
    [
      'a rule whose name is not a string',
      policyOf({ ...RULE, name: {} }),
      'allowlist_v0.rules[0].name',
    ],
    ['a resource that is not a string', policyOf({ ...RULE, resources: [7] }), 'resources[0]'],
  ])('may come from JavaScript: %s is a problem, not a TypeError', (_, given, member) => {
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
    ['`machine_addresses`', { machine_addresses: sparse<string>() }],
    ['`governed`', { governed: 'false' }],
    ['`resolve_unlisted_names`', { resolve_unlisted_names: 1 }],
    ['`revision`', { revision: '5' }],
    ['`revision`', { revision: -1 }],
    ['`revision`', { revision: Number.NaN }],
    ['`set`', []],
    ['`set`', Promise.resolve({ policies: [] })],
    ['`set`', new Map([['policies', []]])],
    ['`set`', [{ id: 'p', name: 'p' }]],
    ['`set`', { id: 'p', name: 'p', allowlist_v0: { rules: [] } }],
    ['`set`', compilePolicy({ policies: [] })],
  ])('may come from JavaScript: %s of the wrong type in %j is an invalid option', (member, set) => {
    const error = failureOf(set)

    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toContain(member)
  })

  test('may mix domains between rules', () => {
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

  test('are rejected even when the machine would ignore them', () => {
    const set = { policies: [policy('p', rule('a', 'allow', ['read'], 'a'))], governed: false }

    expect(failureOf(set).problems).toHaveLength(1)
  })
})

describe('options', () => {
  test.each<[string, unknown]>([
    ['`options`', null],
    ['`options`', true],
    ['`caseSensitive`', { caseSensitive: 'no' }],
    ['`caseSensitive`', { caseSensitive: null }],
  ])('%s of the wrong type is rejected: %j', (name, options) => {
    expect(() => compilePolicy({}, options as CompileOptions)).toThrow(
      expect.objectContaining({
        code: 'ERR_OPTION_INVALID',
        message: expect.stringContaining(name),
      }),
    )
  })

  test('of the right type are accepted, including undefined', () => {
    const set = { governed: undefined, resolve_unlisted_names: false, revision: null }

    expect(compilePolicy(set, { caseSensitive: undefined }).revision).toBeNull()
    expect(compilePolicy({ revision: 0 }).revision).toBe(0)
    expect(compilePolicy({}).revision).toBeNull()
  })

  test.each(['home/dev', '/home/dev/', '/home/../dev', '', '/a\0b'])(
    'reject %j as home',
    (home) => {
      expect(failureOf({ policies: [], home })).toMatchObject({ code: 'ERR_OPTION_INVALID' })
    },
  )

  test.each(['300.1.1.1', '::1%eth0', 'example.com', '[::1]', ''])(
    'reject %j as a machine address',
    (text) => {
      expect(failureOf({ machine_addresses: [text] }).message).toContain('machine_addresses')
    },
  )

  test('accept the root as home', () => {
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

test('rules with equal ids are listed in the same order whatever their input order', () => {
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

describe('unknown members of a set or its options', () => {
  const secret = { ...policy('p', rule('r', 'allow', ['connect:tcp'], 'secret.test')) }
  const ofTeam: Policy = { ...secret, scope: { teams: ['d2901f6e-6b1c-4b53-a9f5-35ee0f1f7f11'] } }

  test.each<[string, object, string]>([
    ['user_teams', { policies: [ofTeam], user_teams: [] }, 'effectivePolicies(policies, teams)'],
    ['caseSensitive', { policies: [], caseSensitive: false }, 'second argument'],
    ['goverened', { policies: [], goverened: true }, '`governed`'],
    ['__proto__', JSON.parse('{"policies":[],"__proto__":{}}') as object, '`policies`'],
  ])('are rejected: `%s`', (member, set, advice) => {
    const error = failureOf(set)

    expect(error.code).toBe('ERR_OPTION_INVALID')
    expect(error.message).toContain(`\`${member}\``)
    expect(error.message).toContain(advice)
  })

  test('are rejected in the options', () => {
    const options = { casesensitive: false } as CompileOptions

    expect(() => compilePolicy({ policies: [] }, options)).toThrow('`casesensitive`')
  })

  test('are ignored when they are undefined', () => {
    const set = { policies: [], user_teams: undefined }

    expect(() => compilePolicy(set)).not.toThrow()
  })
})

describe('an uncompiled policy', () => {
  const request = { action: 'connect:tcp', host: 'a.test', port: 443 }

  test.each<[string, unknown]>([
    ['a set', { policies: [] }],
    ['null', null],
    ['undefined', undefined],
  ])('is rejected with a reference to compilePolicy: %s', (_title, given) => {
    const uncompiled = given as CompiledPolicy

    expect(() => decide(uncompiled, request)).toThrow('`compilePolicy`')
    expect(() => explain(uncompiled, request)).toThrow('`compilePolicy`')
  })
})

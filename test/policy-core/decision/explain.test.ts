import {
  compilePolicy,
  decide,
  explain,
  explainUnavailable,
  type PolicySet,
} from '@palisade/policy-core'
import { describe, expect, test } from 'vitest'
import { policy, rule } from '../policies.ts'

const NETWORK: PolicySet = {
  policies: [
    policy(
      'net',
      rule('exact', 'allow', ['connect:tcp'], 'example.com:443'),
      rule('one', 'allow', ['connect:tcp'], '*.one.test:443'),
      rule('range', 'allow', ['connect:tcp'], '192.0.2.7:443'),
      rule('udp', 'allow', ['connect:udp'], 'dns.test'),
      rule('telemetry', 'deny', ['connect:tcp'], '**.one.test:80', 'telemetry.one.test'),
    ),
    policy(
      'files',
      rule('list', 'allow', ['read'], '/data/*'),
      rule('readme', 'allow', ['read'], '/srv/README'),
      rule('work', 'allow', ['write'], '~/work/**'),
    ),
  ],
  local: [policy('mine', rule('local', 'allow', ['connect:tcp'], 'local.test:443'))],
  home: '/home/dev',
}

function missOf(request: unknown, set: PolicySet = NETWORK): [string, string][] {
  const { near_misses } = explain(compilePolicy(set), request)
  return near_misses.map(({ rule_id, miss }) => [rule_id, miss])
}

function tcp(host: string, port = 443, address?: string): unknown {
  return { action: 'connect:tcp', host, port, ...(address === undefined ? {} : { address }) }
}

describe('near misses of a default deny', () => {
  test.each([
    ['another port of an exact name', tcp('example.com', 80), ['exact', 'other_port']],
    ['a name below an exact name', tcp('api.example.com'), ['exact', 'subdomain_not_covered']],
    ['the apex of a wildcard', tcp('one.test'), ['one', 'apex_not_covered']],
    ['one label too many', tcp('a.b.one.test'), ['one', 'too_many_labels']],
    ['another port of an address', tcp('192.0.2.7', 80), ['range', 'other_port']],
    ['another action', tcp('dns.test'), ['udp', 'other_action']],
    ['a local allow on a governed machine', tcp('local.test'), ['local', 'inactive']],
    [
      'the directory of a star',
      { action: 'read', path: '/data' },
      ['list', 'directory_not_covered'],
    ],
    [
      'two segments for one star',
      { action: 'read', path: '/data/a/b' },
      ['list', 'too_many_segments'],
    ],
    [
      'a path below a literal',
      { action: 'read', path: '/srv/README/x' },
      ['readme', 'contents_not_covered'],
    ],
    ['another letter case', { action: 'read', path: '/srv/readme' }, ['readme', 'letter_case']],
    [
      'reading where writing is allowed',
      { action: 'read', path: '/home/dev/work/a' },
      ['work', 'other_action'],
    ],
  ])('names %s', (_title, request, expected) => {
    expect(missOf(request)).toEqual([expected])
  })

  test.each([
    ['an unrelated name', tcp('elsewhere.test')],
    ['a look-alike suffix', tcp('notexample.com')],
    ['an unrelated address', tcp('198.51.100.1')],
    ['an unrelated path', { action: 'read', path: '/etc/passwd' }],
  ])('are empty for %s', (_title, request) => {
    expect(missOf(request)).toEqual([])
  })

  test('do not report letter case on a case-insensitive file system', () => {
    const set = { policies: [policy('f', rule('r', 'allow', ['read'], '/Srv/README'))] }

    const explanation = explain(compilePolicy(set, { caseSensitive: false }), {
      action: 'read',
      path: '/sRV/readme/x',
    })

    expect(explanation.near_misses.map(({ miss }) => miss)).toEqual(['contents_not_covered'])
  })

  test('list the nearest rule and resource first', () => {
    const set = {
      policies: [
        policy(
          'p',
          rule('far', 'allow', ['connect:tcp'], 'x.test'),
          rule('near', 'allow', ['connect:tcp'], 'a.x.test', '*.x.test'),
        ),
      ],
    }

    const { near_misses } = explain(compilePolicy(set), tcp('b.a.x.test'))

    expect(near_misses.map(({ rule_id, resource, miss }) => [rule_id, resource, miss])).toEqual([
      ['near', '*.x.test', 'too_many_labels'],
      ['far', 'x.test', 'subdomain_not_covered'],
    ])
  })

  test('are at most ten', () => {
    const rules = Array.from({ length: 30 }, (_, index) =>
      rule(`r${index}`, 'allow', ['connect:tcp'], `example.com:${index + 1}`),
    )

    expect(missOf(tcp('example.com', 8443), { policies: [policy('p', ...rules)] })).toHaveLength(10)
  })

  test('ignore a home pattern without a home directory', () => {
    const { home: _home, ...homeless } = NETWORK

    expect(missOf({ action: 'write', path: '/home/dev/work' }, homeless)).toEqual([])
  })
})

describe('matched rules', () => {
  test('show the deny that decided and the allow that it overrode', () => {
    const { matched, decision, near_misses } = explain(
      compilePolicy(NETWORK),
      tcp('telemetry.one.test'),
    )

    expect(decision).toBe('deny')
    expect(matched.map((match) => [match.rule_id, match.resource, match.deciding])).toEqual([
      ['one', '*.one.test:443', false],
      ['telemetry', 'telemetry.one.test', true],
    ])
    expect(near_misses).toEqual([])
  })

  test('show a local allow as inactive on a governed machine', () => {
    const { matched, decision } = explain(compilePolicy(NETWORK), tcp('local.test'))

    expect(decision).toBe('deny')
    expect(matched).toMatchObject([{ rule_id: 'local', active: false, deciding: false }])
  })

  test('name the deciding resource when several of a rule match', () => {
    const set = {
      policies: [policy('p', rule('r', 'deny', ['connect:tcp'], '192.0.2.0/24', 'bad.test'))],
    }

    const { matched, rules } = explain(compilePolicy(set), tcp('bad.test', 443, '192.0.2.1'))

    expect(rules[0]?.resource).toBe('bad.test')
    expect(matched[0]?.resource).toBe('bad.test')
  })

  test('show an embedded deny and not an embedded allow', () => {
    const set = {
      policies: [
        policy(
          'p',
          rule('allow', 'allow', ['connect:tcp'], '10.0.0.0/8'),
          rule('deny', 'deny', ['connect:tcp'], '10.1.0.0/16'),
        ),
      ],
    }

    const { matched } = explain(compilePolicy(set), tcp('64:ff9b::a01:1'))

    expect(matched.map(({ rule_id }) => rule_id)).toEqual(['deny'])
  })
})

describe('detail', () => {
  test.each([
    ['host', tcp('exa mple.com'), '`exa mple.com` is neither a host name nor an address'],
    ['port', { ...(tcp('a.test') as object), port: '443' }, '`port` is not a whole number'],
    ['action', { action: 'connect', host: 'a.test', port: 1 }, '`connect` is not an action'],
    ['missing action', {}, 'no action'],
    ['path', { action: 'read', path: 'data' }, 'not absolute'],
    ['non-string path', { action: 'read', path: 7 }, '`path` is not a string'],
    ['non-string host', tcp(7 as never), '`host` is not a string'],
    ['address', tcp('a.test', 443, '010.0.0.1'), '`010.0.0.1` is not an IP address'],
    ['null address', tcp('a.test', 443, null as never), '`address` is not a string'],
    ['other address', tcp('192.0.2.1', 443, '192.0.2.2'), 'not the address that `host` spells'],
    ['localhost elsewhere', tcp('localhost', 80, '192.0.2.2'), 'means loopback'],
    ['array', [], 'not an object'],
  ])('explains an invalid %s of a request', (_member, request, message) => {
    const explanation = explain(compilePolicy(NETWORK), request)

    expect(explanation).toMatchObject({ reason: 'invalid_request', request: null, hint: null })
    expect(explanation.detail).toContain(message)
  })

  test('handles a request that throws when it is read', () => {
    const hostile = new Proxy({}, { get: () => { throw new Error('no') } }) // prettier-ignore

    expect(explain(compilePolicy(NETWORK), hostile).detail).toBe('the request could not be read')
  })

  test('names the protected classes of an address', () => {
    const { reason, detail } = explain(compilePolicy(NETWORK), tcp('169.254.169.254', 80))

    expect(reason).toBe('protected_address')
    expect(detail).toContain('link-local, cloud metadata')
  })

  test('is null for an ordinary decision', () => {
    expect(explain(compilePolicy(NETWORK), tcp('192.0.2.7')).detail).toBeNull()
  })
})

describe('explainUnavailable', () => {
  test.each([
    ['no_policy', 'no verified policy bundle'],
    ['policy_expired', 'has expired'],
    ['unsupported_policy', 'does not know'],
  ] as const)('denies with %s and a reason', (reason, message) => {
    const explanation = explainUnavailable(reason, tcp('Example.COM'), { revision: 4, stale: true })

    expect(explanation).toMatchObject({
      decision: 'deny',
      reason,
      revision: 4,
      stale: true,
      request: { host: 'example.com' },
      hint: null,
    })
    expect(explanation.detail).toContain(message)
  })

  test('keeps its reason for an invalid request', () => {
    expect(explainUnavailable('no_policy', 7)).toMatchObject({
      reason: 'no_policy',
      request: null,
      revision: null,
      stale: false,
    })
  })
})

test('explain contains the decision of decide', () => {
  const compiled = compilePolicy(NETWORK)
  const {
    matched: _m,
    near_misses: _n,
    detail: _d,
    ...decision
  } = explain(compiled, tcp('example.com', 443, '192.0.2.9'), { stale: true })

  expect(decision).toEqual(decide(compiled, tcp('example.com', 443, '192.0.2.9'), { stale: true }))
})

test('rules with equal ids are distinguished: an allow is not shown as the deciding deny', () => {
  const compiled = compilePolicy({
    policies: [
      policy('p', rule('r', 'deny', ['read'], '/x'), rule('r', 'allow', ['read'], '/x', '/y')),
    ],
  })

  const { matched } = explain(compiled, { action: 'read', path: '/x' })

  expect(matched.map(({ decision, deciding }) => [decision, deciding])).toEqual([
    ['allow', false],
    ['deny', true],
  ])
})

test('a request is read once, so that a changing getter has no effect', () => {
  const compiled = compilePolicy({ policies: [policy('p', rule('r', 'allow', ['read'], '/x'))] })
  let asked = 0
  const request = {
    action: 'read',
    get path() {
      asked += 1
      return asked === 1 ? '/x' : '/y'
    },
  }

  expect(explain(compiled, request)).toMatchObject({
    decision: 'allow',
    matched: [{ rule_id: 'r', deciding: true }],
  })
})

test('identical rules with equal ids are all marked as deciding', () => {
  const same = rule('r', 'allow', ['read'], '/x')
  const compiled = compilePolicy({ policies: [policy('p', same, same), policy('q', same)] })

  const { matched } = explain(compiled, { action: 'read', path: '/x' })

  expect(matched.map(({ policy_id, deciding }) => [policy_id, deciding])).toEqual([
    ['p', true],
    ['p', true],
    ['q', true],
  ])
})

test('every one of 5,000 deciding rules is marked as deciding', () => {
  const ids = Array.from({ length: 5000 }, (_, index) => String(index).padStart(4, '0'))
  const rules = ids.map((id) => rule(id, 'allow', ['connect:tcp'], '**.t'))

  const { matched } = explain(compilePolicy({ policies: [policy('p', ...rules)] }), tcp('a.t'))

  expect(matched.map(({ rule_id }) => rule_id)).toEqual(ids)
  expect(matched.every(({ deciding }) => deciding)).toBe(true)
})

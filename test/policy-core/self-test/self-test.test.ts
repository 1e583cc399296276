import {
  compilePolicy,
  makeSelfTest,
  runSelfTest,
  type Policy,
  type Rule,
  type SelfTestVector,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policies.ts'

/** Runs the vectors of `intended` against a policy set that contains `misread` instead. */
function fault(intended: Policy, misread: Policy, others: readonly Policy[] = []) {
  const compiled = compilePolicy({ policies: [misread, ...others], home: '/home/dev' })
  return runSelfTest({ compiled, home: '/home/dev' }, intended, makeSelfTest(intended))
}

const tcp = (decision: Rule['decision'], ...resources: string[]): Policy =>
  policy('pol_1', rule('rule_1', decision, ['connect:tcp'], ...resources))
const read = (decision: Rule['decision'], ...resources: string[]): Policy =>
  policy('pol_1', rule('rule_1', decision, ['read'], ...resources))

describe('the vectors of a policy', () => {
  it('state which rules match a request, near misses, and a host without rules', () => {
    const both = policy(
      'pol_1',
      rule('rule_1', 'allow', ['connect:tcp'], '*.example.com:443'),
      rule('rule_2', 'deny', ['connect:tcp', 'connect:udp'], 'other.example.com'),
    )

    expect(makeSelfTest(both).slice(0, 5)).toEqual([
      connect('self-test.invalid', 443, { miss: [0, 1] }),
      connect('other.example.com', 443, { match: [0, 1] }),
      connect('other.other.example.com', 443, { miss: [0, 1] }),
      connect('other.example.com', 444, { match: [1], miss: [0] }),
      connect('otherother.example.com', 443, { match: [0], miss: [1] }),
    ])
  })

  it('test a rule with `~` only below the home directory', () => {
    const both = policy(
      'pol_1',
      rule('rule_1', 'allow', ['read'], '~/work/**'),
      rule('rule_2', 'deny', ['read'], '/home/**', '~/work/secret'),
      rule('rule_3', 'deny', ['read'], '/srv/*'),
    )

    const vectors = makeSelfTest(both)

    expect(vectors).toContainEqual(path('~/work/other', { match: [0] }))
    expect(vectors).toContainEqual(path('/home/other', { match: [1], miss: [2] }))
    expect(vectors).toContainEqual(path('/srv/other', { match: [2] }))
  })

  it('combine a name with an address when there are rules for both', () => {
    const both = tcp('allow', 'example.com', '192.0.2.0/24')

    expect(makeSelfTest(both)).toContainEqual({
      ...connect('example.com', 443, { match: [0] }),
      address: '192.0.2.255',
    })
  })

  it('omit requests whose result depends on case sensitivity', () => {
    const vectors = makeSelfTest(read('allow', '/Data', '/data/other'))

    expect(vectors).toContainEqual(path('/Data', { match: [0] }))
    expect(vectors).not.toContainEqual(expect.objectContaining({ path: '/Data/other' }))
  })

  it.each<[string, Policy]>([
    ['no rules', policy('pol_1')],
    ['a policy without rule set', { id: 'pol_1', name: 'none' }],
    ['a rule without actions', policy('pol_1', rule('rule_1', 'allow', [], 'example.com'))],
    ['only invalid resources', tcp('allow', '*.*', 'https://x/', '10.0.0.1/8', '')],
    [
      'two rules with the same id',
      { ...tcp('allow', 'a.example'), ...twice(tcp('allow', 'a.example')) },
    ],
  ])('are empty for %s', (_what, hostile) => {
    expect(makeSelfTest(hostile)).toEqual([])
  })

  it('stay few and short for the largest policy; a rule too large has only matches', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `h${index}.example.com`)
    const rules = Array.from({ length: 250 }, (_, index) =>
      rule(`rule_${index}`, index % 3 === 0 ? 'deny' : 'allow', ['connect:tcp'], `r${index}.test`),
    )
    const large = policy('pol_1', rule('rule_all', 'deny', ['connect:tcp'], ...names), ...rules)

    const vectors = makeSelfTest(large)

    expect(vectors).toHaveLength(12)
    expect(JSON.stringify(vectors).length).toBeLessThan(4200)
    expect(vectors).toContainEqual(expect.objectContaining({ host: 'h0.example.com', match: [0] }))
    expect(vectors.every(({ miss }) => !miss.includes(0))).toBe(true)
    expect(fault(large, large)).toBeNull()
  })
})

describe('the vectors fail for an evaluator', () => {
  it.each<[string, Policy, Policy]>([
    ['that treats one label as any depth', tcp('allow', '*.a.test'), tcp('allow', '**.a.test')],
    ['that treats any depth as one label', tcp('allow', '**.a.test'), tcp('allow', '*.a.test')],
    [
      'that lets a wildcard match the apex',
      tcp('deny', '**.a.test'),
      tcp('deny', '**.a.test', 'a.test'),
    ],
    ['that ignores dots', tcp('allow', 'a.test'), tcp('allow', 'a.test', 'othera.test')],
    ['that ignores ports', tcp('allow', 'a.test:8443'), tcp('allow', 'a.test')],
    ['that adds ports', tcp('deny', 'a.test'), tcp('deny', 'a.test:80')],
    ['that reads a prefix one bit short', tcp('allow', '10.0.0.0/9'), tcp('allow', '10.0.0.0/8')],
    ['that reads a prefix one bit long', tcp('deny', '10.0.0.0/8'), tcp('deny', '10.0.0.0/9')],
    ['that loses an IPv6 range', tcp('deny', '2001:db8::/32'), tcp('deny', '192.0.2.1')],
    ['that denies what is allowed', tcp('allow', 'a.test'), tcp('deny', 'a.test')],
    ['that allows what is denied', tcp('deny', 'a.test'), tcp('allow', 'a.test')],
    ['that treats `*` as `**`', read('allow', '/data/*'), read('allow', '/data/**')],
    ['that treats `**` as `*`', read('deny', '/data/**'), read('deny', '/data/*')],
    ['that compares prefixes', read('allow', '/data/x'), read('allow', '/data/x*')],
    ['that loses paths below the home', read('deny', '~/.ssh/**'), read('deny', '~/.ssh')],
    ['that uses another home', read('deny', '~/.ssh'), read('deny', '/root/.ssh')],
    ['that ignores segments between', read('deny', '/a/**/b'), read('deny', '/a/b')],
    [
      'that treats writing as reading',
      read('allow', '/data'),
      policy('pol_1', rule('rule_1', 'allow', ['read', 'write'], '/data')),
    ],
    [
      'that treats UDP as TCP',
      policy('pol_1', rule('rule_1', 'deny', ['connect:tcp', 'connect:udp'], 'a.test')),
      tcp('deny', 'a.test'),
    ],
  ])('%s', (_what, intended, misread) => {
    expect(fault(intended, intended)).toBeNull()
    expect(fault(intended, misread)).toMatchObject({ policy_id: 'pol_1' })
  })

  it('with the request, the rules and the decision in the failure', () => {
    expect(fault(tcp('allow', '*.a.test'), tcp('allow', '**.a.test'))).toMatchObject({
      policy_id: 'pol_1',
      vector: connect('other.other.a.test', 443, { miss: [0] }),
      match: [],
      miss: ['rule_1'],
      decision: { decision: 'allow', reason: 'rule' },
    })
  })

  it('when a vector refers to a rule that the policy lacks', () => {
    const compiled = compilePolicy({ policies: [tcp('allow', 'a.test')] })
    const vector = connect('a.test', 443, { match: [7] })

    expect(runSelfTest({ compiled }, tcp('allow', 'a.test'), [vector])).not.toBeNull()
  })
})

describe('the vectors pass', () => {
  const mine = tcp('allow', 'a.test', '*.b.test:443', '10.0.0.0/8', '169.254.169.254')

  it.each<[string, Policy]>([
    [
      'denies requests that it allows',
      { ...tcp('deny', '**.test', 'a.test', '0.0.0.0/0'), id: 'pol_2' },
    ],
    [
      'allows requests that it misses',
      { ...tcp('allow', '**.test', '0.0.0.0/0', '::/0'), id: 'pol_2' },
    ],
  ])('when another policy %s', (_what, other) => {
    expect(fault(mine, mine, [other])).toBeNull()
  })

  it('when a user policy has the same ids', () => {
    const compiled = compilePolicy({ policies: [mine], local: [tcp('deny', '**.test', 'a.test')] })

    expect(runSelfTest({ compiled }, mine, makeSelfTest(mine))).toBeNull()
  })

  it('when an address is protected, including machine addresses', () => {
    const addresses = ['10.255.255.255', '10.0.0.0', '192.0.2.1']
    const compiled = compilePolicy({ policies: [mine], machine_addresses: addresses })

    expect(runSelfTest({ compiled }, mine, makeSelfTest(mine))).toBeNull()
  })

  it.each([undefined, '/', '/home/dev', `/${'x'.repeat(4000)}`])(
    'for any home directory: %.20s',
    (home) => {
      const policies = [read('deny', '~/.ssh/**', '/home/**', '~', '/**/x')]
      const compiled = compilePolicy({ policies, ...(home === undefined ? {} : { home }) })

      for (const each of policies)
        expect(runSelfTest({ compiled, home }, each, makeSelfTest(each))).toBeNull()
    },
  )
})

interface Said {
  readonly match?: number[]
  readonly miss?: number[]
}

function connect(host: string, port: number, { match = [], miss = [] }: Said): SelfTestVector {
  return { kind: 'connect', action: 'connect:tcp', host, port, match, miss }
}

function path(text: string, { match = [], miss = [] }: Said): SelfTestVector {
  return { kind: 'path', action: 'read', path: text, match, miss }
}

function twice({ allowlist_v0 }: Policy): Pick<Policy, 'allowlist_v0'> {
  const rules = allowlist_v0?.rules ?? []
  return { allowlist_v0: { rules: [...rules, ...rules] } }
}

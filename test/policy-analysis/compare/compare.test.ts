import { compare, isNoWider, type Change, type Comparison } from '@palisade/policy-analysis'
import {
  compilePolicy,
  decide,
  PolicyError,
  type Action,
  type CompiledPolicy,
  type PolicySet,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../../policy-core/policies.ts'

const TCP: readonly Action[] = ['connect:tcp']

/** Parses rules such as `allow example.com, deny a.example.com`, all for the same actions. */
function rules(text: string, set: PolicySet = {}, actions = TCP): CompiledPolicy {
  const written = text
    .split(', ')
    .filter(Boolean)
    .map((each) => each.split(' '))
  const compiled = written.map(([decision, resource = ''], index) =>
    rule(`rule_${index}`, decision === 'deny' ? 'deny' : 'allow', actions, resource),
  )
  return compilePolicy({ policies: [policy('p', ...compiled)], ...set })
}

/** Formats one change as text. */
function sentence({ resource, within, only, except }: Change): string {
  return [
    resource,
    within === undefined ? '' : `within ${within}`,
    only === undefined ? '' : `only ${only}`,
    except.allowed.length === 0 ? '' : `but allowed ${except.allowed.join(' ')}`,
    except.denied.length === 0 ? '' : `but denied ${except.denied.join(' ')}`,
  ]
    .filter(Boolean)
    .join(' ')
}

function sentences({ reachable, blocked, complete }: Comparison) {
  expect(complete).toBe(true)
  return { reachable: reachable.map(sentence), blocked: blocked.map(sentence) }
}

function difference(
  before: string,
  after: string,
  sets: readonly [PolicySet, PolicySet] = [{}, {}],
) {
  return sentences(compare(rules(before, sets[0]), rules(after, sets[1])))
}

describe('compare', () => {
  it('finds no difference between a policy and itself', () => {
    const set = rules('allow **.example.com, deny x.example.com:80, allow 10.0.0.0/8')

    expect(compare(set, set)).toEqual({ reachable: [], blocked: [], complete: true, undecided: [] })
  })

  it('reports a new allow without its denied and previously allowed parts', () => {
    expect(
      difference(
        'deny db.example.com, allow api.example.com',
        'deny db.example.com, allow api.example.com, allow **.example.com',
      ),
    ).toEqual({
      reachable: ['**.example.com but allowed api.example.com but denied db.example.com'],
      blocked: [],
    })
  })

  it('reports one pattern instead of the twenty names that it covers', () => {
    const names = Array.from({ length: 20 }, (_, n) => `allow n${n}.example.com`).join(', ')

    expect(difference('', `${names}, allow **.example.com`)).toEqual({
      reachable: ['**.example.com'],
      blocked: [],
    })
  })

  it('reports the pattern of a removed deny', () => {
    expect(
      difference('allow **.example.com, deny **.db.example.com', 'allow **.example.com'),
    ).toEqual({ reachable: ['**.db.example.com'], blocked: [] })
  })

  it('reports only the allowed part of a removed deny', () => {
    expect(difference('allow a.example.com, deny **.example.com', 'allow a.example.com')).toEqual({
      reachable: ['a.example.com'],
      blocked: [],
    })
  })

  it('reports no change for different rules with the same meaning', () => {
    expect(difference('allow 10.0.0.0/8', 'allow 10.0.0.0/9, allow 10.128.0.0/9')).toEqual({
      reachable: [],
      blocked: [],
    })
  })

  it('reports all other ports when an allow is narrowed to one port', () => {
    expect(difference('allow example.com', 'allow example.com:443')).toEqual({
      reachable: [],
      blocked: ['example.com but allowed example.com:443'],
    })
  })

  it('reports the other half of a halved range', () => {
    expect(difference('allow 10.0.0.0/8', 'allow 10.0.0.0/9')).toEqual({
      reachable: [],
      blocked: ['10.128.0.0/9'],
    })
  })

  it('reports a catch-all without the denies inside, including embedded IPv4 addresses', () => {
    const before = rules('deny 10.0.0.0/8, allow 2001:db8::/32')
    const after = rules('deny 10.0.0.0/8, allow 2001:db8::/32, allow ::/0')

    expect(sentences(compare(before, after))).toEqual({
      reachable: ['::/0 but allowed 2001:db8::/32 but denied 10.0.0.0/8'],
      blocked: [],
    })
  })

  it('reports only the rule that opens a protected address', () => {
    expect(difference('allow 0.0.0.0/0', 'allow 0.0.0.0/0, allow 127.0.0.1:8080')).toEqual({
      reachable: ['127.0.0.1:8080'],
      blocked: [],
    })
  })

  it('reports a new machine address as blocked, alone and for allowed names', () => {
    expect(
      difference('allow 192.0.2.0/24, allow example.com', 'allow 192.0.2.0/24, allow example.com', [
        {},
        { machine_addresses: ['192.0.2.7'] },
      ]),
    ).toEqual({
      reachable: [],
      blocked: ['192.0.2.7', '192.0.2.7 only with_allowed_name'],
    })
  })

  it('reports a deny of addresses that blocks them only for allowed names', () => {
    expect(difference('allow **.example.com', 'allow **.example.com, deny 10.0.0.0/8')).toEqual({
      reachable: [],
      blocked: ['10.0.0.0/8 only with_allowed_name'],
    })
  })

  it('reports a deny of a name that blocks it only for allowed addresses', () => {
    expect(difference('allow 10.0.0.0/8', 'allow 10.0.0.0/8, deny db.example.com')).toEqual({
      reachable: [],
      blocked: ['db.example.com only with_allowed_address'],
    })
  })

  it('reports the IPv6 addresses that a removed IPv4 deny had blocked', () => {
    expect(difference('allow 2002::/16, deny 10.0.0.0/8', 'allow 2002::/16')).toEqual({
      reachable: ['2002::/16 within 10.0.0.0/8'],
      blocked: [],
    })
  })

  it('excludes IPv6 denies from the addresses that a removed IPv4 deny opens to names', () => {
    const before = 'allow a.com, deny 2002::/16, deny [2002:a00:1::1]:443, deny 10.0.0.0/8'
    expect(difference(before, before.replace(', deny 10.0.0.0/8', ''))).toEqual({
      reachable: ['10.0.0.0/8 only with_allowed_name but denied 2002::/16'],
      blocked: [],
    })
  })

  it('reads the inverted client of a Teredo address', () => {
    const [client, plain] = ['2001:0:808:808::f5ff:fffe', '2001:0:808:808::a00:1']
    const both = `allow ${client}, allow ${plain}`

    expect(difference(`${both}, deny 10.0.0.1`, both)).toEqual({
      reachable: [`${client} within 10.0.0.1`],
      blocked: [],
    })
    expect(difference('deny 10.0.0.1', `deny 10.0.0.1, ${both}`)).toEqual({
      reachable: [plain],
      blocked: [],
    })
  })

  it('reports localhost only when loopback is open', () => {
    expect(difference('', 'allow **.localhost')).toEqual({ reachable: [], blocked: [] })
    expect(difference('allow 127.0.0.0/8, deny **.localhost', 'allow 127.0.0.0/8')).toEqual({
      reachable: ['**.localhost only with_allowed_address'],
      blocked: [],
    })
  })

  it('compares nested path patterns', () => {
    const before = rules('allow /data/*, deny /data/secret', {}, ['read'])
    const after = rules('allow /data/**, deny /data/secret/**', {}, ['read'])

    expect(sentences(compare(before, after))).toEqual({
      reachable: ['/data/** but allowed /data/* but denied /data/secret/**'],
      blocked: [],
    })
  })

  it('reports the intersection of overlapping path patterns', () => {
    const before = rules('allow /data/**, deny /**/.git/**', {}, ['write'])
    const after = rules('allow /data/**', {}, ['write'])

    expect(sentences(compare(before, after))).toEqual({
      reachable: ['/data/** within /**/.git/**'],
      blocked: [],
    })
  })

  it('gives an example and the causing rules for every change', () => {
    const before = rules('allow **.example.com, deny a.example.com')
    const after = rules('allow **.example.com, allow example.org')

    const { reachable } = compare(before, after)

    expect(
      reachable.map(({ example, rules }) => [example, rules.map((each) => each.resource)]),
    ).toEqual([
      [{ action: 'connect:tcp', host: 'a.example.com', port: 443 }, ['a.example.com']],
      [{ action: 'connect:tcp', host: 'example.org', port: 443 }, ['example.org']],
    ])
    for (const { example } of reachable) {
      expect(decide(before, example).decision).toBe('deny')
      expect(decide(after, example).decision).toBe('allow')
    }
  })

  it('lists the patterns that it did not decide within the budget', () => {
    const names = Array.from({ length: 50 }, (_, n) => `allow n${n}.example.com`).join(', ')

    const comparison = compare(rules(''), rules(names), { maxSteps: 20 })

    expect(comparison.complete).toBe(false)
    expect(comparison.reachable.length).toBeGreaterThan(0)
    expect(comparison.reachable.length + comparison.undecided.length).toBe(50)
    expect(comparison.undecided).toContainEqual({
      action: 'connect:tcp',
      resource: 'n49.example.com',
    })
  })

  it('reports a removed deny as a whole when it had blocked many separate allows', () => {
    const names = Array.from({ length: 40 }, (_, n) => `allow n${n}.example.com`).join(', ')

    const comparison = compare(rules(names), rules(`${names}, deny **.example.com:443`))

    expect(sentences(comparison)).toEqual({
      reachable: [],
      blocked: ['**.example.com:443 only allowed'],
    })
    expect(comparison.blocked[0]?.rules.map(({ resource }) => resource)).toEqual([
      '**.example.com:443',
    ])
  })

  it('detects that every label that fits below a long domain is denied', () => {
    const domain = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(59)}`
    const labels = 'abcdefghijklmnopqrstuvwxyz0123456789-_'.split('')
    const denies = (count: number) =>
      labels.slice(0, count).map((label) => `deny ${label}.${domain}`)

    const closed = rules([...denies(38), `allow **.${domain}`].join(', '))
    const open = rules([...denies(37), `allow **.${domain}`].join(', '))

    expect(isNoWider(rules(''), closed)).toEqual({ answer: 'yes' })
    expect(isNoWider(rules(''), open)).toMatchObject({ witness: { host: `_.${domain}` } })
  })

  it.each([{ policies: [] }, [], null, undefined, 'policies'])(
    'rejects uncompiled policies such as %j',
    (given) => {
      const policy = given as unknown as CompiledPolicy
      const compiled = compilePolicy({ policies: [] })

      expect(() => compare(policy, compiled)).toThrow(
        /^`before`: .+ is not a compiled policy; give/,
      )
      expect(() => compare(compiled, policy)).toThrow(/^`after`: /)
      expect(() => isNoWider(policy, compiled)).toThrow(PolicyError)
      expect(() => isNoWider(compiled, policy)).toThrow(PolicyError)
    },
  )

  it('rejects policies compiled for different file systems', () => {
    const set = { policies: [] }

    expect(() => compare(compilePolicy(set), compilePolicy(set, { caseSensitive: false }))).toThrow(
      expect.objectContaining({
        code: 'ERR_OPTION_INVALID',
        message:
          '`caseSensitive`: the two policies differ in it; compile both for the same file system',
      }),
    )
  })

  it('rejects a budget that is not a positive integer', () => {
    const set = rules('')

    expect(() => compare(set, set, { maxSteps: 0.5 })).toThrow(
      '`maxSteps`: `0.5` is not a positive whole number',
    )
  })
})

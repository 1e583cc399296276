import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'
import { apply, APPLY, post, rule, stateOf } from './documents.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp({
    limits: { maxPolicies: 3, maxRules: 4, maxPolicyBytes: 2000 },
  })
  await apply(governed, { policies: [{ name: 'there', rules: [rule('a', 'a.example')] }] })
})
afterAll(() => governed.close())

const GOOD = { name: 'good', scope: { teams: ['backend'] }, rules: [rule('x', 'x.example')] }
const CHANGED = { name: 'there', rules: [rule('a', 'changed.example')] }

/** A document with one invalid rule in its last policy, after policies with effective changes. */
function faultyRule(fault: object) {
  const rules = [rule('first', 'b.example'), { ...rule('second', 'c.example'), ...fault }]
  return { policies: [CHANGED, GOOD, { name: 'faulty', rules }] }
}

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => rule(`r${index}`, `h${index}.example`))

/** Repeats a resource to reach limits of size. */
const long = (count: number) => Array.from({ length: count }, () => 'example.com')

describe('a document with one fault', () => {
  it.each<[string, object, string, string]>([
    [
      'a bad resource',
      faultyRule({ resources: ['d.example', 'a*.x'] }),
      '400 invalid_argument',
      'policies[2].rules[1].resources[1]',
    ],
    [
      'no resources',
      faultyRule({ resources: [] }),
      '400 invalid_argument',
      'policies[2].rules[1].resources',
    ],
    [
      'a resource that is too long',
      faultyRule({ resources: ['x'.repeat(4097)] }),
      '400 invalid_argument',
      'policies[2].rules[1].resources[0]',
    ],
    [
      'an unknown action',
      faultyRule({ actions: ['connect'] }),
      '400 invalid_argument',
      'policies[2].rules[1].actions[0]',
    ],
    [
      'an action twice',
      faultyRule({ actions: ['read', 'read'] }),
      '400 invalid_argument',
      'policies[2].rules[1].actions',
    ],
    [
      'another domain',
      faultyRule({ actions: ['read'], resources: ['relative'] }),
      '400 domain_mismatch',
      'policies[2].rules[1].actions',
    ],
    [
      'two domains in one rule',
      faultyRule({ actions: ['connect:tcp', 'write'] }),
      '400 domain_mismatch',
      'policies[2].rules[1].actions',
    ],
    [
      'an unknown decision',
      faultyRule({ decision: 'permit' }),
      '400 invalid_argument',
      'policies[2].rules[1].decision',
    ],
    [
      'a rule with an id',
      faultyRule({ id: 'rule_1' }),
      '400 invalid_argument',
      'policies[2].rules[1].id',
    ],
    [
      'a rule name twice',
      faultyRule({ name: ' first ' }),
      '400 invalid_argument',
      'policies[2].rules[1].name',
    ],
    [
      'a rule name of control characters',
      faultyRule({ name: 'a\u0007' }),
      '400 invalid_argument',
      'policies[2].rules[1].name',
    ],
    [
      'null for a rule',
      { policies: [CHANGED, { ...GOOD, rules: [null] }] },
      '400 invalid_argument',
      'policies[1].rules[0]',
    ],
    [
      'null for rules',
      { policies: [CHANGED, { ...GOOD, rules: null }] },
      '400 invalid_argument',
      'policies[1].rules',
    ],
    [
      'no rules',
      { policies: [CHANGED, { name: 'x' }] },
      '400 invalid_argument',
      'policies[1].rules',
    ],
    [
      'an id',
      { policies: [CHANGED, { ...GOOD, id: 'pol_1' }] },
      '400 invalid_argument',
      'policies[1].id',
    ],
    [
      'an unknown member of a scope',
      { policies: [CHANGED, { ...GOOD, scope: { team: [] } }] },
      '400 invalid_argument',
      'policies[1].scope.team',
    ],
    [
      'an unknown team',
      { policies: [CHANGED, { ...GOOD, scope: { teams: ['backend', 'nobody'] } }] },
      '400 invalid_argument',
      'policies[1].scope.teams[1]',
    ],
    [
      'a policy name twice',
      { policies: [GOOD, CHANGED, { ...GOOD, name: 'good ' }] },
      '400 invalid_argument',
      'policies[2].name',
    ],
    ['no policies', { prune: true }, '400 invalid_argument', 'policies'],
    ['an unknown member', { policies: [CHANGED], pruned: true }, '400 invalid_argument', 'pruned'],
    [
      'a prune that is not a boolean',
      { policies: [CHANGED], prune: 'yes' },
      '400 invalid_argument',
      'prune',
    ],
    [
      'a rule too many',
      { policies: [CHANGED, { name: 'big', rules: many(5) }] },
      '403 limit_exceeded',
      'policies[1]',
    ],
    [
      'a rule too many in an existing policy',
      { policies: [GOOD, { name: 'there', rules: many(5) }] },
      '403 limit_exceeded',
      'policies[1]',
    ],
    [
      'a policy too many',
      { policies: [CHANGED, ...['p', 'q', 'r'].map((name) => ({ name, rules: [] }))] },
      '403 limit_exceeded',
      '',
    ],
    [
      'a policy too large',
      {
        policies: [
          CHANGED,
          { name: 'big', rules: [rule('r', ...Array.from({ length: 200 }, () => 'example.com'))] },
        ],
      },
      '403 limit_exceeded',
      'policies[1]',
    ],
  ])(
    'is refused for %s without an effect, naming the field',
    async (_title, document, outcome, field) => {
      const before = await stateOf(governed)

      const response = await post(governed, document)

      const { code, reason, field: named = '' } = response.json().error
      expect(`${response.statusCode} ${reason ?? code}`).toBe(outcome)
      expect(named).toBe(field)
      expect(await stateOf(governed)).toEqual(before)
    },
  )

  it('refuses the id of another organization’s team like an unknown one', async () => {
    const scope = { teams: [governed.rivalTeam] }
    const response = await post(governed, { policies: [{ ...GOOD, scope }] })

    expect(response.json().error).toMatchObject({
      code: 'invalid_argument',
      message: `team \`${governed.rivalTeam}\` is not a team of this organization`,
    })
  })

  it('names the policy that exceeds a limit', async () => {
    const response = await post(governed, { policies: [{ name: 'big', rules: many(5) }] })

    expect(response.json().error.message).toBe('policy `big`: a policy may have at most 4 rules')
  })

  it('stops at the first of many faults', async () => {
    const policies = Array.from({ length: 3 }, (_, index) => ({
      name: `p${index}`,
      rules: Array.from({ length: 90_000 }, () => 0),
    }))
    const startedAt = performance.now()

    const response = await post(governed, { policies })

    expect(response.json().error.field).toBe('policies[0].rules[0]')
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })

  it.each([
    [
      'values together',
      { policies: Array.from({ length: 500_001 }, () => 0) },
      'the body is not acceptable JSON: the text holds more than 500000 values',
      undefined,
    ],
    [
      'values in one policy',
      { policies: [{ name: 'x', rules: Array.from({ length: 100_001 }, () => 0) }] },
      'must hold at most 100000 values',
      'policies[0]',
    ],
    [
      'members of one object',
      { policies: [{ name: 'x', rules: [wide(10_000)] }] },
      'the body is not acceptable JSON: more than 1000 different lists of member names',
      undefined,
    ],
  ])('refuses too many %s', async (_title, document, message, field) => {
    const response = await post(governed, document)

    expect(response.statusCode).toBe(400)
    expect(response.json().error.message.replace(/^`policies\[0\]` /, '')).toBe(message)
    expect(response.json().error.field).toBe(field)
  })

  it.each([
    ['accepts 4 MiB', 4 * 1024 * 1024, 400, 'the body is empty; send a JSON object'],
    [
      'refuses more than 4 MiB, and says what to send instead',
      4 * 1024 * 1024 + 1,
      413,
      'the body must be at most 4194304 bytes; apply the policies in several documents, ' +
        'without `prune`',
    ],
  ])('%s', async (_title, bytes, status, message) => {
    const response = await governed.app.inject({
      method: 'POST',
      url: APPLY,
      headers: {
        authorization: `Bearer ${await governed.tokenFor('olga')}`,
        'content-type': 'application/json',
      },
      payload: ' '.repeat(bytes),
    })

    expect(response.statusCode).toBe(status)
    expect(response.json().error.message).toBe(message)
  })

  it.each([
    ['policies', [...['p', 'q', 'r'].map((name) => ({ name, rules: [] })), { name: '', rules: 0 }]],
    ['rules', [{ name: 'p', rules: [...many(5), 0] }]],
    ['bytes', [{ name: 'p', rules: [rule('r', ...long(500)), 0] }]],
  ])('stops reading %s beyond the limits', async (_title, policies) => {
    const response = await post(governed, { dry_run: true, prune: true, policies })

    expect(response.json().error.code).toBe('limit_exceeded')
  })

  it('may be larger than the body of other endpoints, up to 16 MiB', async () => {
    const resources = Array.from({ length: 600 }, () => `${'x'.repeat(4000)}*.example`)
    const large = await post(governed, {
      policies: [{ name: 'x', rules: [rule('r', ...resources)] }],
    })
    const tooLarge = await post(governed, ' '.repeat(16 * 1024 * 1024 + 1))

    expect(large.json().error.code).toBe('limit_exceeded')
    expect(tooLarge.statusCode).toBe(413)
  })
})

describe('the order of checks', () => {
  const url = (org: string) => `/api/v1/orgs/${org}/apply`
  const faults = {
    method: 'POST',
    payload: '{"policies":null',
    query: { unknown: '1' },
    headers: { 'content-type': 'text/plain', 'if-match': 'nonsense' },
  } as const

  async function refusal(request: Parameters<GovernedApp['send']>[0]): Promise<string> {
    const response = await governed.send({ ...faults, ...request })
    return `${response.statusCode} ${response.json().error?.code}`
  }

  it('is the same as at every other endpoint', async () => {
    const json = { 'content-type': 'application/json' }
    const document = { policies: [{ name: 'big', rules: many(5) }] }
    expect(await refusal({ as: null, url: url('nowhere') })).toBe('401 unauthenticated')
    for (const org of ['nowhere', 'rival'])
      expect(await refusal({ url: url(org) })).toBe('404 not_found')
    for (const as of ['mia', 'audrey'])
      expect(await refusal({ as, url: url('acme') })).toBe('403 permission_denied')
    expect(await refusal({ url: url('poor') })).toBe('403 permission_denied')
    expect(await refusal({ url: APPLY })).toBe('415 invalid_argument')
    expect(await refusal({ url: APPLY, headers: json })).toBe('400 invalid_argument')
    expect(await refusal({ url: APPLY, headers: json, payload: document })).toBe(
      '400 invalid_argument',
    )
    expect(
      await refusal({ url: APPLY, headers: { 'if-match': '0' }, payload: document, query: {} }),
    ).toBe('400 invalid_argument')
    expect(
      await refusal({ url: APPLY, headers: { 'if-match': '"0"' }, payload: document, query: {} }),
    ).toBe('412 conflict')
    expect(await refusal({ url: APPLY, headers: {}, payload: document, query: {} })).toBe(
      '403 limit_exceeded',
    )
  })

  it('lets a token apply that has only `policies:write`', async () => {
    const headers = {
      authorization: `Bearer ${await governed.tokenFor('olga', ['policies:write'])}`,
    }
    const send = (payload: object) =>
      governed.app.inject({ method: 'POST', url: APPLY, headers, payload })

    expect((await send({ policies: [] })).statusCode).toBe(200)
    expect((await send({ policies: [], dry_run: true })).statusCode).toBe(403)
  })
})

function wide(members: number): object {
  return Object.fromEntries(Array.from({ length: members }, (_, index) => [`member ${index}`, 0]))
}

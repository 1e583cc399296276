import type { PolicyBody } from '@palisade/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTwoOrganizations, type TwoOrganizations } from './two-organizations.ts'

const POLICIES = '/v2/orgs/acme/governance/policies'
const RULE = { name: 'r', actions: ['connect:tcp'], decision: 'allow', resources: ['example.com'] }

let world: TwoOrganizations
let made = 0

beforeAll(async () => {
  world = await openTwoOrganizations()
})
afterAll(() => world.close())

const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
  world.send(method, url, {
    as: world.callers.owner,
    ...(payload === undefined ? {} : { payload }),
  })

async function newPolicy(scope?: object): Promise<PolicyBody> {
  made += 1
  const body = { name: `policy ${made}`, ...(scope === undefined ? {} : { scope }) }
  const answer = await send('POST', POLICIES, body)
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}
const postRule = ({ id }: PolicyBody, change: object) =>
  send('POST', `${POLICIES}/${id}/rules`, { ...RULE, ...change })
const codeOf = (answer: { statusCode: number; json(): { error: { code: string } } }) =>
  `${answer.statusCode} ${answer.json().error.code}`

describe('a rule', () => {
  it.each([
    ['connect:tcp', 'example.com'],
    ['connect:udp', '*.example.com'],
    ['connect:tcp', '**.example.com'],
    ['connect:tcp', 'example.com:443'],
    ['connect:udp', '10.0.0.0/8'],
    ['connect:tcp', '2001:db8::/32'],
    ['read', '/data/reports'],
    ['write', '/data/*/reports'],
    ['read', '/data/**'],
  ])('of %s accepts the pattern %s and shows it as written', async (action, pattern) => {
    const created = await postRule(await newPolicy(), { actions: [action], resources: [pattern] })

    expect(created.statusCode, created.body).toBe(201)
    expect(created.json()).toMatchObject({ actions: [action], resources: [pattern] })
  })

  it.each([
    ['actions', { actions: [] }],
    ['actions', { actions: ['connect:tcp', 'connect:udp', 'connect:tcp'] }],
    ['actions[0]', { actions: ['connect:icmp'] }],
    ['decision', { decision: 'ALLOW' }],
    ['decision', { decision: 'ask' }],
    ['resources', { resources: [] }],
    ['resources[0]', { resources: ['x'.repeat(4097)] }],
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(256) }],
    ['name', { name: 'a\u0007b' }],
  ])('is refused for invalid %s in %j', async (field, change) => {
    const refused = await postRule(await newPolicy(), change)

    expect(codeOf(refused)).toBe('400 invalid_argument')
    expect(refused.json().error.field).toBe(field)
  })

  it.each(['name', 'actions', 'decision', 'resources'])(
    'is refused without `%s`',
    async (field) => {
      const refused = await postRule(await newPolicy(), { [field]: undefined })

      expect(codeOf(refused)).toBe('400 invalid_argument')
      expect(refused.json().error.field).toBe(field)
    },
  )

  it('may have both actions of its domain, and change to the other one later', async () => {
    const policy = await newPolicy()
    const { id } = (await postRule(policy, { actions: ['connect:udp', 'connect:tcp'] })).json()

    const url = `${POLICIES}/${policy.id}/rules/${String(id)}`
    const changed = await send('PATCH', url, { actions: ['connect:udp'] })

    expect(changed.statusCode, changed.body).toBe(200)
    expect(changed.json()).toMatchObject({
      old: { id, actions: ['connect:udp', 'connect:tcp'] },
      new: { id, actions: ['connect:udp'] },
    })
  })

  it('may have a resource of 4096 characters', async () => {
    const path = `/${'x'.repeat(4095)}`
    const created = await postRule(await newPolicy(), { actions: ['read'], resources: [path] })
    expect(created.statusCode, created.body).toBe(201)
  })

  it('is the 250th of its policy, and refused as the 251st', async () => {
    const rules = Array.from({ length: 250 }, (_, index) => ({ ...RULE, name: `r${index}` }))
    const document = { policies: [{ name: 'full', scope: {}, rules }] }
    const applied = await send('POST', '/api/v1/orgs/acme/apply', document)
    expect(applied.statusCode, applied.body).toBe(200)
    const list: PolicyBody[] = (await send('GET', POLICIES)).json().data
    const full = list.find(({ name }) => name === 'full')
    if (full === undefined) throw new Error('the policy is not there')

    expect(codeOf(await postRule(full, { name: 'one more' }))).toBe('403 limit_exceeded')
  })
})

describe('a policy', () => {
  it('keeps members that a PATCH omits, and needs a PATCH with at least one member', async () => {
    const scope = { teams: [world.acme.team] }
    const policy = await newPolicy(scope)
    const patch = (body: object) => send('PATCH', `${POLICIES}/${policy.id}`, body)

    expect((await patch({ name: 'other name' })).json().new).toMatchObject({ scope })
    expect((await patch({ scope: {} })).json().new).toMatchObject({ name: 'other name', scope })
    expect((await patch({ scope: { teams: [] } })).json().new.scope).toEqual({})
    expect(codeOf(await patch({}))).toBe('400 invalid_argument')
    expect(codeOf(await patch({ scope: null }))).toBe('400 invalid_argument')
    expect(codeOf(await patch({ scope: { teams: null } }))).toBe('400 invalid_argument')
    expect(codeOf(await patch({ allowlist_v0: { rules: [] } }))).toBe('400 invalid_argument')
    expect(codeOf(await patch({ scope: { teams: ['no uuid'] } }))).toBe('400 invalid_argument')
  })

  it('has times in UTC with whole seconds, and an empty scope when it is for all', async () => {
    const policy = await newPolicy()

    expect(policy.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(policy.updated_at).toBe(policy.created_at)
    expect(policy).toMatchObject({ org: 'acme', scope: {} })
    expect(policy).not.toHaveProperty('allowlist_v0')
  })

  it('stores its name in NFC, trimmed and case-sensitive', async () => {
    const names = [' Cafe\u0301 ', 'Caf\u00e9', 'caf\u00e9']
    const answers = []
    for (const name of names) answers.push(await send('POST', POLICIES, { name }))

    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 409, 201])
    expect(answers[0]?.json().name).toBe('Caf\u00e9')
  })
})

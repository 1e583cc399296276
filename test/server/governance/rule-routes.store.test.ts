import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, getPolicy, POLICIES, RULE } from './policies.ts'

let governed: GovernedApp
let policyId: string
let count = 0

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())

async function newPolicy(): Promise<string> {
  count += 1
  policyId = (await createPolicy(governed, `policy ${count}`)).id
  return policyId
}

function postRule(payload: object) {
  return governed.send({ method: 'POST', url: `${POLICIES}/${policyId}/rules`, payload })
}

function patchRule(ruleId: string, payload: object) {
  const url = `${POLICIES}/${policyId}/rules/${ruleId}`
  return governed.send({ method: 'PATCH', url, payload })
}

describe('creating a rule', () => {
  it('answers 201 with the rule as sent', async () => {
    await newPolicy()
    const body = { ...RULE, name: 'any', resources: ['EXAMPLE.com', '::ffff:10.0.0.0/104'] }

    const response = await postRule(body)

    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({
      id: expect.stringMatching(/^rule_[0-9a-hjkmnp-tv-z]{28}$/),
      ...body,
    })
  })

  it('appends the rule and updates `updated_at` of the policy', async () => {
    const id = await newPolicy()
    const before = await getPolicy(governed, id)
    governed.advance(2000)

    const first = await createRule(governed, id, { name: 'z' })
    const second = await createRule(governed, id, { name: 'a' })

    const after = await getPolicy(governed, id)
    expect(after.allowlist_v0?.rules).toEqual([first, second])
    expect(after.updated_at > before.updated_at).toBe(true)
    expect(after.created_at).toBe(before.created_at)
  })

  it('keeps repeated resources and refuses a repeated action', async () => {
    await newPolicy()

    const repeated = await postRule({ ...RULE, resources: ['a.example', 'a.example'] })
    const twice = await postRule({ ...RULE, name: 'two', actions: ['connect:tcp', 'connect:tcp'] })

    expect(repeated.json().resources).toEqual(['a.example', 'a.example'])
    expect(twice.statusCode).toBe(400)
    expect(twice.json().error.field).toBe('actions')
  })

  it('accepts a path with 32 `**`, and refuses one with more, naming it', async () => {
    await newPolicy()
    const actions = ['read']

    const taken = await postRule({ ...RULE, actions, resources: ['/**/a'.repeat(32)] })
    const refused = await postRule({
      ...RULE,
      name: 'two',
      actions,
      resources: ['/**/a'.repeat(33)],
    })

    expect(taken.statusCode).toBe(201)
    expect(refused.statusCode).toBe(400)
    expect(refused.json().error).toMatchObject({
      field: 'resources[0]',
      message: expect.stringContaining('`/**/a/**/a') as string,
    })
  })

  it('refuses a name in use in this policy, and accepts it in another', async () => {
    await newPolicy()
    expect((await postRule(RULE)).statusCode).toBe(201)
    expect((await postRule(RULE)).statusCode).toBe(409)
    await newPolicy()
    expect((await postRule(RULE)).statusCode).toBe(201)
  })

  it.each([
    ['network', '*', 'resources[1]'],
    ['network', 'https://example.com/', 'resources[1]'],
    ['network', '10.0.0.1/8', 'resources[1]'],
    ['network', '', 'resources[1]'],
    ['filesystem', 'relative/path', 'resources[1]'],
    ['filesystem', '/data/../etc', 'resources[1]'],
    ['filesystem', '/data/', 'resources[1]'],
  ])('refuses the %s resource `%s` and names its position', async (domain, resource, field) => {
    const id = await newPolicy()
    const [actions, good] =
      domain === 'network' ? [['connect:udp'], 'example.com'] : [['read'], '/data/**']

    const response = await postRule({ ...RULE, actions, resources: [good, resource] })

    expect(response.statusCode).toBe(400)
    expect(response.json().error).toMatchObject({ code: 'invalid_argument', field })
    expect(await getPolicy(governed, id)).not.toHaveProperty('allowlist_v0')
  })
})

describe('the domain of a policy', () => {
  const mismatch = { code: 'invalid_argument', reason: 'domain_mismatch', field: 'actions' }

  it('refuses actions of two domains in one rule, before its resources', async () => {
    await newPolicy()
    const response = await postRule({
      ...RULE,
      actions: ['connect:tcp', 'read'],
      resources: ['***'],
    })

    expect(response.statusCode).toBe(400)
    expect(response.json().error).toMatchObject(mismatch)
  })

  it.each([
    ['create', { ...RULE, name: 'disk', actions: ['read'], resources: ['not a path'] }],
    ['create', { ...RULE, name: 'disk', actions: ['write'], resources: [] }],
  ])('refuses to %s a rule of the other domain, before its resources', async (_verb, body) => {
    await newPolicy()
    await postRule(RULE)

    const response = await postRule(body)

    expect(response.statusCode).toBe(400)
    expect(response.json().error).toMatchObject(mismatch)
    expect(response.json().error.message).toContain('write it in a policy of its own')
  })

  it('refuses to move the only rule to the other domain', async () => {
    await newPolicy()
    const { id } = (await postRule(RULE)).json()

    const response = await patchRule(id, { actions: ['read'], resources: ['/data'] })

    expect(response.statusCode).toBe(400)
    expect(response.json().error).toMatchObject(mismatch)
  })

  it('can change after the last rule is deleted', async () => {
    await newPolicy()
    const { id } = (await postRule(RULE)).json()
    await governed.send({ method: 'DELETE', url: `${POLICIES}/${policyId}/rules/${id}` })

    const response = await postRule({ ...RULE, actions: ['read'], resources: ['/data'] })

    expect(response.statusCode).toBe(201)
    const policy = await getPolicy(governed, policyId)
    expect(policy.allowlist_v0?.domain).toBe('filesystem')
  })
})

describe('updating a rule', () => {
  it('changes only the members of the body and keeps the position', async () => {
    const id = await newPolicy()
    const first = await createRule(governed, id, { name: 'first' })
    const second = await createRule(governed, id, { name: 'second' })
    governed.advance(2000)

    const response = await patchRule(first.id, { decision: 'deny' })

    expect(response.statusCode).toBe(200)
    const updated = { ...first, decision: 'deny' }
    expect(response.json()).toEqual({ old: first, new: updated })
    expect((await getPolicy(governed, id)).allowlist_v0?.rules).toEqual([updated, second])
  })

  it('does not write without a change', async () => {
    const id = await newPolicy()
    const rule = await createRule(governed, id)
    const before = await governed.send({ url: `${POLICIES}/${id}` })
    governed.advance(2000)

    const response = await patchRule(rule.id, { ...RULE })

    expect(response.json()).toEqual({ old: rule, new: rule })
    expect(response.headers.etag).toBe(before.headers.etag)
    expect(await getPolicy(governed, id)).toEqual(before.json())
  })

  it('refuses the name of another rule, but not its own', async () => {
    const id = await newPolicy()
    await createRule(governed, id, { name: 'occupied' })
    const rule = await createRule(governed, id, { name: 'mover' })

    expect((await patchRule(rule.id, { name: 'occupied' })).statusCode).toBe(409)
    expect((await patchRule(rule.id, { name: 'mover', decision: 'deny' })).statusCode).toBe(200)
  })

  it('refuses a resource that does not compile and keeps the rule', async () => {
    const id = await newPolicy()
    const rule = await createRule(governed, id)

    const response = await patchRule(rule.id, { resources: ['a*.example'] })

    expect(response.statusCode).toBe(400)
    expect(response.json().error.field).toBe('resources[0]')
    expect((await getPolicy(governed, id)).allowlist_v0?.rules).toEqual([rule])
  })

  it('answers 404 to a rule of another policy', async () => {
    const rule = await createRule(governed, await newPolicy())
    await newPolicy()

    expect((await patchRule(rule.id, { decision: 'deny' })).statusCode).toBe(404)
  })
})

describe('deleting a rule', () => {
  it('answers with the rule, and the policy stays without a rule set', async () => {
    const id = await newPolicy()
    const rule = await createRule(governed, id)
    governed.advance(2000)

    const url = `${POLICIES}/${id}/rules/${rule.id}`
    const response = await governed.send({ method: 'DELETE', url })

    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ deleted: rule })
    const policy = await getPolicy(governed, id)
    expect(policy).not.toHaveProperty('allowlist_v0')
    expect(policy.updated_at > policy.created_at).toBe(true)
    expect((await governed.send({ method: 'DELETE', url })).statusCode).toBe(404)
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, getPolicy, POLICIES, RULE } from './policies.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp({
    limits: { maxPolicies: 5, maxRules: 3, maxPolicyBytes: 1000 },
  })
})
beforeEach(() => governed.clearPolicies())
afterAll(() => governed.close())

function post(url: string, payload: object) {
  return governed.send({ method: 'POST', url, payload })
}

function tally(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('limits', () => {
  it('are not exceeded by concurrent creations of policies', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => post(POLICIES, { name: `racer ${String(index)}` })),
    )

    expect(tally(responses.map(({ statusCode }) => statusCode))).toEqual({ 201: 5, 403: 15 })
    const refused = responses.find(({ statusCode }) => statusCode === 403)
    expect(refused?.json().error.code).toBe('limit_exceeded')
    const list = await governed.send({ url: POLICIES })
    expect(list.json().data).toHaveLength(5)
  })

  it('are not exceeded by concurrent creations of rules', async () => {
    const { id } = await createPolicy(governed, 'crowded')

    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        post(`${POLICIES}/${id}/rules`, { ...RULE, name: `racer ${String(index)}` }),
      ),
    )

    expect(tally(responses.map(({ statusCode }) => statusCode))).toEqual({ 201: 3, 403: 17 })
    expect((await getPolicy(governed, id)).allowlist_v0?.rules).toHaveLength(3)
  })

  it('allow another creation after a deletion', async () => {
    const policies = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map((name) => createPolicy(governed, name)),
    )
    expect((await post(POLICIES, { name: 'f' })).statusCode).toBe(403)
    await governed.send({ method: 'DELETE', url: `${POLICIES}/${policies[0]?.id ?? ''}` })
    expect((await post(POLICIES, { name: 'f' })).statusCode).toBe(201)
  })

  it('count the UTF-8 bytes of the whole policy exactly', async () => {
    const { id } = await createPolicy(governed, 'bytes')
    const rule = { actions: ['read'], resources: ['/é'] }
    const { id: ruleId } = await createRule(governed, id, rule)
    const spare = 1000 - Buffer.byteLength(JSON.stringify(await getPolicy(governed, id)))
    const resize = (length: number) =>
      governed.send({
        method: 'PATCH',
        url: `${POLICIES}/${id}/rules/${ruleId}`,
        payload: { resources: [`/é${'x'.repeat(length)}`] },
      })

    const tooLarge = await resize(spare + 1)
    const fitting = await resize(spare)

    expect(tooLarge.statusCode).toBe(403)
    expect(tooLarge.json().error.code).toBe('limit_exceeded')
    expect(fitting.statusCode, fitting.body).toBe(200)
    const size = Buffer.byteLength(JSON.stringify(await getPolicy(governed, id)))
    expect(size).toBe(1000)
    const rename = await governed.send({
      method: 'PATCH',
      url: `${POLICIES}/${id}`,
      payload: { name: 'bytes+' },
    })
    expect(rename.statusCode).toBe(403)
  })
})

describe('concurrent requests with the same name', () => {
  it('create one policy and get 409 otherwise', async () => {
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => post(POLICIES, { name: 'one and only' })),
    )

    expect(tally(responses.map(({ statusCode }) => statusCode))).toEqual({ 201: 1, 409: 3 })
  })

  it('create one rule', async () => {
    const { id } = await createPolicy(governed, 'contested')

    const responses = await Promise.all(
      Array.from({ length: 3 }, () => post(`${POLICIES}/${id}/rules`, RULE)),
    )

    expect(tally(responses.map(({ statusCode }) => statusCode))).toEqual({ 201: 1, 409: 2 })
  })
})

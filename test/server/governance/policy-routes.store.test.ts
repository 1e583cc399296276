import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, getPolicy, POLICIES } from './policies.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())

describe('creating a policy', () => {
  it('answers 201 with the policy, without a rule set', async () => {
    const response = await governed.send({
      method: 'POST',
      url: POLICIES,
      payload: { name: ' first  ' },
    })

    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({
      id: expect.stringMatching(/^pol_[0-9a-hjkmnp-tv-z]{28}$/),
      name: 'first',
      org: 'acme',
      scope: {},
      created_at: '2026-11-21T08:00:00Z',
      updated_at: '2026-11-21T08:00:00Z',
    })
    expect(response.headers.etag).toMatch(/^"\d+"$/)
  })

  it.each([{}, { scope: {} }, { scope: { teams: [] } }])(
    'applies to the whole organization with %j',
    async (body) => {
      const name = `whole ${JSON.stringify(body)}`
      const response = await governed.send({
        method: 'POST',
        url: POLICIES,
        payload: { name, ...body },
      })

      expect(response.json().scope).toEqual({})
    },
  )

  it('stores teams in order, in lower case and without repetition', async () => {
    const teams = [governed.team.toUpperCase(), governed.team]

    const policy = await createPolicy(governed, 'of a team', { teams })

    expect(policy.scope).toEqual({ teams: [governed.team] })
  })

  it('refuses a team of another organization and names it', async () => {
    const response = await governed.send({
      method: 'POST',
      url: POLICIES,
      payload: { name: 'foreign team', scope: { teams: [governed.rivalTeam] } },
    })

    expect(response.statusCode).toBe(400)
    expect(response.json().error).toMatchObject({ code: 'invalid_argument', field: 'scope.teams' })
    expect(response.json().error.message).toContain(governed.rivalTeam)
  })

  it('refuses a name in use, also in another normal form', async () => {
    await createPolicy(governed, 'caf\u00e9')

    const response = await governed.send({
      method: 'POST',
      url: POLICIES,
      payload: { name: 'cafe\u0301' },
    })

    expect(response.statusCode).toBe(409)
    expect(response.json().error.code).toBe('conflict')
  })

  it('lets the other organization use the same name', async () => {
    await createPolicy(governed, 'same name')

    const response = await governed.send({
      as: 'rita',
      method: 'POST',
      url: '/v2/orgs/rival/governance/policies',
      payload: { name: 'same name' },
    })

    expect(response.statusCode).toBe(201)
  })
})

describe('getting a policy', () => {
  it('shows the rule set and its domain when there are rules', async () => {
    const { id } = await createPolicy(governed, 'with rules')
    const rule = await createRule(governed, id)

    const policy = await getPolicy(governed, id)

    expect(policy.allowlist_v0).toEqual({ domain: 'network', rules: [rule] })
  })

  it('omits the rule set when there are no rules', async () => {
    const { id } = await createPolicy(governed, 'without rules')

    expect(await getPolicy(governed, id)).not.toHaveProperty('allowlist_v0')
  })

  it('does not show the policy of another organization', async () => {
    const { id } = await createPolicy(governed, 'private')

    const response = await governed.send({
      as: 'rita',
      url: `/v2/orgs/rival/governance/policies/${id}`,
    })

    expect(response.statusCode).toBe(404)
    expect(response.json().error.code).toBe('not_found')
  })

  it.each(['pol_x', 'pol_00000000000000000000000000000', '%00', 'a'.repeat(600)])(
    'answers 404 for the id %s',
    async (id) => {
      const response = await governed.send({ url: `${POLICIES}/${id}` })

      expect(response.statusCode).toBe(404)
      expect(response.json().error.code).toBe('not_found')
    },
  )
})

describe('updating a policy', () => {
  it('answers with the old and the new policy, and changes only `updated_at` besides', async () => {
    const { id } = await createPolicy(governed, 'to rename')
    await createRule(governed, id)
    const old = await getPolicy(governed, id)
    governed.advance(2000)

    const response = await governed.send({
      method: 'PATCH',
      url: `${POLICIES}/${id}`,
      payload: { name: 'renamed' },
    })

    expect(response.statusCode).toBe(200)
    const body = response.json()
    expect(body.old).toEqual(old)
    expect(body.new).toEqual({ ...old, name: 'renamed', updated_at: expect.any(String) })
    expect(body.new.updated_at > old.updated_at).toBe(true)
    expect(await getPolicy(governed, id)).toEqual(body.new)
  })

  it('keeps the teams unless the body has some', async () => {
    const { id } = await createPolicy(governed, 'scoped', { teams: [governed.team] })
    const patch = async (payload: object) =>
      (await governed.send({ method: 'PATCH', url: `${POLICIES}/${id}`, payload })).json().new.scope

    expect(await patch({ name: 'scoped 2' })).toEqual({ teams: [governed.team] })
    expect(await patch({ scope: {} })).toEqual({ teams: [governed.team] })
    expect(await patch({ scope: { teams: [] } })).toEqual({})
  })

  it('does not write without a change', async () => {
    const { id } = await createPolicy(governed, 'constant')
    const before = await governed.send({ url: `${POLICIES}/${id}` })
    governed.advance(5000)

    const response = await governed.send({
      method: 'PATCH',
      url: `${POLICIES}/${id}`,
      payload: { name: 'constant', scope: {} },
    })

    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ old: before.json(), new: before.json() })
    expect(response.headers.etag).toBe(before.headers.etag)
  })

  it('refuses the name of another policy, but not its own', async () => {
    await createPolicy(governed, 'occupied')
    const { id } = await createPolicy(governed, 'mover')
    const rename = (name: string) =>
      governed.send({ method: 'PATCH', url: `${POLICIES}/${id}`, payload: { name } })

    expect((await rename('occupied')).statusCode).toBe(409)
    expect((await rename('mover')).statusCode).toBe(200)
  })

  it('never moves `updated_at` backwards when the clock is set back', async () => {
    const { id } = await createPolicy(governed, 'time traveller')
    const { updated_at } = await getPolicy(governed, id)
    governed.advance(-60_000)

    const response = await governed.send({
      method: 'PATCH',
      url: `${POLICIES}/${id}`,
      payload: { name: 'time traveller 2' },
    })
    governed.advance(60_000)

    expect(response.json().new.updated_at).toBe(updated_at)
  })
})

describe('deleting a policy', () => {
  it('answers with the policy, its rules and its old `updated_at`, and removes it', async () => {
    const { id } = await createPolicy(governed, 'to delete')
    await createRule(governed, id)
    const policy = await getPolicy(governed, id)
    governed.advance(2000)

    const response = await governed.send({ method: 'DELETE', url: `${POLICIES}/${id}` })

    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ deleted: policy })
    expect((await governed.send({ url: `${POLICIES}/${id}` })).statusCode).toBe(404)
  })

  it('ignores any body', async () => {
    const { id } = await createPolicy(governed, 'deleted with a body')

    const response = await governed.send({
      method: 'DELETE',
      url: `${POLICIES}/${id}`,
      headers: { 'content-type': 'nonsense' },
      payload: '{"a":',
    })

    expect(response.statusCode).toBe(200)
  })
})

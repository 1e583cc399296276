import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openOwner } from '../owner.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

interface PolicyView {
  readonly id: string
  readonly name: string
  readonly scope: { readonly teams?: readonly string[] }
  readonly updated_at: string
}

describe('deleting a team that policies use', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  let org: string
  /** The URL of the organization. */
  let acme: string
  let policies: string
  let alice: string
  let backend: string
  let research: string
  /** Policies of both teams, and of only the team to delete. */
  let shared: PolicyView
  let sole: PolicyView

  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    const owner = await openOwner(test)
    ;({ org, as: alice } = owner)
    acme = `/api/v1/orgs/${org}`
    policies = `/v2/orgs/${org}/governance/policies`
    backend = await createTeam('backend')
    research = await createTeam('research')
    shared = await createPolicy('shared', [backend, research])
    sole = await createPolicy('backend only', [backend])
    await createPolicy('research only', [research])
    await createPolicy('everybody', [])
    test.advance(5_000)
  })

  async function createTeam(name: string): Promise<string> {
    const response = await test.send('POST', `${acme}/teams`, { as: alice, payload: { name } })
    return response.json().id
  }

  async function createPolicy(name: string, teams: readonly string[]): Promise<PolicyView> {
    const payload = { name, scope: { teams } }
    const response = await test.send('POST', policies, { as: alice, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  const remove = (query: string, as = alice, team = backend) =>
    test.send('DELETE', `${acme}/teams/${team}${query}`, { as })

  const listPolicies = async (): Promise<PolicyView[]> =>
    (await test.send('GET', policies, { as: alice })).json().data

  const listTeams = async (): Promise<string[]> =>
    (await test.send('GET', `${acme}/teams`, { as: alice }))
      .json()
      .data.map(({ name }: { name: string }) => name)

  async function sessionWith(permissions: readonly string[]): Promise<string> {
    const payload = { name: 'narrow', permissions, expires_in_days: 1 }
    const response = await test.send('POST', `${acme}/access-tokens`, { as: alice, payload })
    return test.signIn(org, response.json().token)
  }

  const secondOf = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

  it('is refused with their names without an explicit option', async () => {
    const before = await listPolicies()

    const refused = await remove('')

    expect(refused.statusCode).toBe(409)
    expect(refused.json().error).toMatchObject({ code: 'conflict', reason: 'team_in_use' })
    expect(refused.json().error.message).toContain('`backend only`, `shared`;')
    expect(await listPolicies()).toEqual(before)
    expect(await listTeams()).toEqual(['backend', 'research'])
  })

  it('is refused without changes while a policy has no other team', async () => {
    const before = await listPolicies()

    const refused = await remove('?detach=policies')

    expect(refused.statusCode).toBe(409)
    expect(refused.json().error).toMatchObject({ code: 'conflict', reason: 'team_in_use' })
    expect(refused.json().error.message).toContain('`backend only`')
    expect(refused.json().error.message).not.toContain('`shared`')
    expect(await listPolicies()).toEqual(before)
    expect(await listTeams()).toEqual(['backend', 'research'])
  })

  it('removes the team from policies that have another one', async () => {
    await test.send('DELETE', `${policies}/${sole.id}`, { as: alice })

    expect((await remove('?detach=policies')).statusCode).toBe(204)

    const [detached] = (await listPolicies()).filter(({ id }) => id === shared.id)
    expect(detached).toMatchObject({ name: 'shared', scope: { teams: [research] } })
    expect(detached?.updated_at).toBe(secondOf(test.now()))
    expect(await listTeams()).toEqual(['research'])
  })

  it('deletes a policy without another team with a second option', async () => {
    expect((await remove('?detach=policies&sole=delete')).statusCode).toBe(204)

    const scopes = (await listPolicies()).map(({ name, scope }) => [name, scope])
    expect(Object.fromEntries(scopes)).toEqual({
      shared: { teams: [research] },
      'research only': { teams: [research] },
      everybody: {},
    })
  })

  it('never makes a team policy organization-wide', async () => {
    const queries = ['', '?detach=policies', '?detach=policies&sole=delete', '?sole=delete']
    const wide = async () => {
      const listed = await listPolicies()
      return listed.filter(({ scope }) => scope.teams === undefined).map(({ name }) => name)
    }
    for (const team of [backend, research])
      for (const query of queries) {
        await remove(query, alice, team)
        expect(await wide(), query).toEqual(['everybody'])
      }
    expect(await listTeams()).toEqual([])
  })

  it('needs the permission to change policies', async () => {
    const admin = await sessionWith(['organization:admin'])
    const editor = await sessionWith(['policies:read', 'policies:write'])
    const both = await sessionWith(['organization:admin', 'policies:write'])
    const query = '?detach=policies&sole=delete'

    expect((await remove(query, admin)).statusCode).toBe(403)
    expect((await remove(query, editor)).statusCode).toBe(403)
    expect(await listTeams()).toEqual(['backend', 'research'])
    expect((await remove(query, both)).statusCode).toBe(204)
  })

  it('returns 400 for an unknown option, but 404 first for an unknown team', async () => {
    for (const query of [
      '?sole=delete',
      '?detach=all',
      '?detach=',
      '?detach=policies&detach=policies',
      '?detach=policies&sole=everybody',
      '?force=true',
    ]) {
      const response = await remove(query)
      expect([response.statusCode, response.json().error.code], query).toEqual([
        400,
        'invalid_argument',
      ])
    }
    expect((await remove('?force=true', alice, 'absent')).statusCode).toBe(404)
  })

  it('names at most ten policies', async () => {
    for (let index = 0; index < 12; index += 1) await createPolicy(`extra ${index}`, [backend])

    expect((await remove('')).json().error.message).toMatch(/`extra 6` and 4 more; change/)
  })
})

import {
  teamSchema,
  updatedMemberSchema,
  type CreatedAccessToken,
  type Permission,
  type Role,
} from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshNames } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const PASSWORD = 'a long enough password'
const UNKNOWN = '00000000-0000-4000-8000-000000000000'

describe('administration', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  let named: (name: string) => string
  /** The URL of the organization. */
  let acme: string
  let owner: Owner
  let alice: string

  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    named = freshNames()
    acme = `/api/v1/orgs/${named('acme')}`
    owner = await openOwner(test, named('acme'), named('alice'))
    alice = owner.as
  })

  const addMember = (username: string, role: Role) => owner.addMember(username, role, PASSWORD)
  const organizationToken = (permissions: Permission[]) => owner.organizationToken(permissions)

  async function createTeam(name: string): Promise<string> {
    const response = await test.send('POST', `${acme}/teams`, { as: alice, payload: { name } })
    expect(response.statusCode, response.body).toBe(201)
    return teamSchema.parse(response.json()).id
  }

  describe('of all resources', () => {
    const endpoints = () =>
      [
        ['GET', `${acme}/members`],
        ['POST', `${acme}/members`],
        ['PATCH', `${acme}/members/${named('alice')}`],
        ['DELETE', `${acme}/members/${named('alice')}`],
        ['GET', `${acme}/teams`],
        ['POST', `${acme}/teams`],
        ['DELETE', `${acme}/teams/${UNKNOWN}`],
        ['PUT', `${acme}/teams/${UNKNOWN}/members/${named('alice')}`],
        ['DELETE', `${acme}/teams/${UNKNOWN}/members/${named('alice')}`],
        ['GET', `${acme}/access-tokens`],
        ['POST', `${acme}/access-tokens`],
        ['DELETE', `${acme}/access-tokens/${UNKNOWN}`],
      ] as const

    it('is restricted to administrators at every endpoint', async () => {
      const others = [
        await addMember(named('bob'), 'member'),
        await addMember(named('ed'), 'editor'),
        await addMember(named('audrey'), 'auditor'),
        await organizationToken(['policies:read', 'policies:write', 'audit:read']),
      ]
      const { personal_token } = await test.createOrganization(named('rival'), named('rita'))
      const rita = await test.signIn(named('rita'), personal_token)

      for (const [method, url] of endpoints()) {
        const what = `${method} ${url}`
        expect((await test.send(method, url)).statusCode, what).toBe(401)
        for (const as of others)
          expect((await test.send(method, url, { as })).statusCode, what).toBe(403)
        const stranger = await test.send(method, url, { as: rita })
        const absent = await test.send(method, url.replace(named('acme'), 'absent'), { as: rita })
        expect(stranger.statusCode, what).toBe(404)
        expect(stranger.json().error.message).toBe(absent.json().error.message)
      }
    })

    it('validates the body last', async () => {
      const headers = { 'content-type': 'text/plain' }
      for (const [method, url, status] of [
        ['POST', `${acme}/teams`, 415],
        ['PATCH', `${acme}/members/nobody`, 404],
        ['PATCH', `${acme}/members/${named('alice')}`, 415],
      ] as const) {
        const asStranger = await test.send(method, url, { headers, payload: {} })
        const asOwner = await test.send(method, url, { as: alice, headers, payload: {} })

        expect([asStranger.statusCode, asOwner.statusCode]).toEqual([401, status])
      }
    })

    it('refuses query parameters', async () => {
      expect((await test.send('GET', `${acme}/teams?x=1`, { as: alice })).statusCode).toBe(400)
    })
  })

  describe('of members', () => {
    it('adds, lists, changes and removes', async () => {
      await addMember(named('bob'), 'member')
      const team = await createTeam('backend')
      await test.send('PUT', `${acme}/teams/${team}/members/${named('bob')}`, { as: alice })

      const changed = await test.send('PATCH', `${acme}/members/${named('bob')}`, {
        as: alice,
        payload: { role: 'editor' },
      })
      expect(changed.statusCode).toBe(200)
      expect(updatedMemberSchema.parse(changed.json())).toEqual({
        username: named('bob'),
        role: 'editor',
        teams: [team],
        organization_tokens: 0,
      })
      const listed = await test.send('GET', `${acme}/members`, { as: alice })
      expect(listed.json().data).toEqual([
        { username: named('alice'), role: 'owner', teams: [] },
        { username: named('bob'), role: 'editor', teams: [team] },
      ])

      const removed = await test.send('DELETE', `${acme}/members/${named('bob')}`, { as: alice })
      expect([removed.statusCode, removed.body]).toEqual([204, ''])
      expect((await test.send('GET', `${acme}/members`, { as: alice })).json().data).toHaveLength(1)
    })

    it('refuses a removed member at once', async () => {
      const ed = await addMember(named('ed'), 'editor')
      const list = () =>
        test.send('GET', `/v2/orgs/${named('acme')}/governance/policies`, { as: ed })
      expect((await list()).statusCode).toBe(200)

      await test.send('DELETE', `${acme}/members/${named('ed')}`, { as: alice })

      expect((await list()).statusCode).toBe(404)
    })

    it('keeps the organization tokens of a removed member unless told to revoke them', async () => {
      const ida = await addMember(named('ida'), 'owner')
      const bob = await addMember(named('bob'), 'owner')
      const rival = await test.createOrganization(named('rival'), named('bob'))
      const bobOfRival = await test.signIn(named('bob'), rival.personal_token)
      const make = async (as: string, org = named('acme')) => {
        const payload = { name: 'ci', permissions: ['organization:admin'], expires_in_days: 1 }
        const url = `/api/v1/orgs/${org}/access-tokens`
        const { token } = (await test.send('POST', url, { as, payload })).json()
        return { token, open: await test.signIn(org, token) }
      }
      const idas = await make(ida)
      const bobs = await make(bob)
      const childOfBobs = await make(bobs.open)
      const elsewhere = await make(bobOfRival, named('rival'))
      const remove = (query: string) =>
        test.send('DELETE', `${acme}/members/${query}`, { as: alice })
      const statusOf = async ({ open }: { open: string }, org = named('acme')) =>
        (await test.send('GET', `/api/v1/orgs/${org}/members`, { as: open })).statusCode

      expect((await remove(named('ida'))).statusCode).toBe(204)
      expect((await remove(`${named('bob')}?organization_tokens=keep`)).statusCode).toBe(400)
      expect((await remove('nobody?organization_tokens=keep')).statusCode).toBe(404)
      expect((await remove(`${named('bob')}?organization_tokens=revoke`)).statusCode).toBe(204)

      expect(await statusOf(idas)).toBe(200)
      expect([await statusOf(bobs), await statusOf(childOfBobs)]).toEqual([401, 401])
      expect((await test.exchange(named('acme'), bobs.token)).statusCode).toBe(401)
      expect(await statusOf(elsewhere, named('rival'))).toBe(200)
    })

    it('shows organization tokens with more permissions than their creators have now', async () => {
      const bob = await addMember(named('bob'), 'owner')
      const ida = await addMember(named('ida'), 'owner')
      const make = async (as: string, name: string, permissions: Permission[]) => {
        const payload = { name, permissions, expires_in_days: 1 }
        const made = await test.send('POST', `${acme}/access-tokens`, { as, payload })
        expect(made.statusCode, made.body).toBe(201)
        return made.json<CreatedAccessToken>()
      }
      const wide = await make(bob, 'wide', ['organization:admin'])
      await make(bob, 'narrow', ['policies:read'])
      await make(await test.signIn(named('acme'), wide.token), 'child', ['organization:admin'])
      await make(ida, 'idas', [])
      await make(ida, 'wide of ida', ['audit:read'])
      await make(alice, 'own', ['organization:admin'])
      const exceeding = async () => {
        const { data } = (await test.send('GET', `${acme}/access-tokens`, { as: alice })).json<{
          data: CreatedAccessToken[]
        }>()
        return Object.fromEntries(data.map(({ name, exceeds_creator }) => [name, exceeds_creator]))
      }
      const ofOthers = { child: null, own: false }
      expect(wide).toMatchObject({ created_by: `user:${named('bob')}`, exceeds_creator: false })
      expect(await exceeding()).toEqual({
        wide: false,
        narrow: false,
        idas: false,
        'wide of ida': false,
        ...ofOthers,
      })

      const payload = { role: 'editor' }
      const changed = await test.send('PATCH', `${acme}/members/${named('bob')}`, {
        as: alice,
        payload,
      })
      await test.send('DELETE', `${acme}/members/${named('ida')}`, { as: alice })

      expect(changed.json()).toMatchObject({ role: 'editor', organization_tokens: 2 })
      expect(await exceeding()).toEqual({
        wide: true,
        narrow: false,
        idas: false,
        'wide of ida': true,
        ...ofOthers,
      })
    })

    it('revokes organization tokens of a member on request, even without a new role', async () => {
      const bob = await addMember(named('bob'), 'owner')
      const make = async (as: string) => {
        const request = { name: 'ci', permissions: ['organization:admin'], expires_in_days: 1 }
        const made = await test.send('POST', `${acme}/access-tokens`, { as, payload: request })
        return test.signIn(named('acme'), made.json<CreatedAccessToken>().token)
      }
      const first = await make(bob)
      const second = await make(bob)
      const own = await make(alice)
      const change = (query: string, role: Role) =>
        test.send('PATCH', `${acme}/members/${named('bob')}${query}`, {
          as: alice,
          payload: { role },
        })
      const statusOf = async (as: string) =>
        (await test.send('GET', `${acme}/members`, { as })).statusCode

      expect((await change('?organization_tokens=keep', 'editor')).statusCode).toBe(400)
      expect((await change('', 'editor')).json()).toMatchObject({ organization_tokens: 2 })
      expect(await statusOf(first)).toBe(200)
      const revoked = await change('?organization_tokens=revoke', 'editor')

      expect(revoked.json()).toMatchObject({ role: 'editor', organization_tokens: 0 })
      expect([await statusOf(first), await statusOf(second)]).toEqual([401, 401])
      expect(await statusOf(own)).toBe(200)
    })

    it('refuses a second membership and a password for an existing user', async () => {
      await addMember(named('bob'), 'member')
      const rival = await test.createOrganization(named('rival'), named('rita'))
      const rita = await test.signIn(named('rita'), rival.personal_token)
      const add = (payload: object) =>
        test.send('POST', `/api/v1/orgs/${named('rival')}/members`, { as: rita, payload })

      expect((await add({ username: named('rita'), role: 'member' })).statusCode).toBe(409)
      expect(
        (await add({ username: named('bob'), role: 'member', password: 'rita chose this' }))
          .statusCode,
      ).toBe(409)
      expect((await test.exchange(named('bob'), 'rita chose this')).statusCode).toBe(401)
      expect((await add({ username: named('bob'), role: 'member' })).statusCode).toBe(201)
      expect((await test.exchange(named('bob'), PASSWORD)).statusCode).toBe(200)
    })

    it('creates users without a password, who cannot sign in with one', async () => {
      const payload = { username: named('bot'), role: 'member' }
      await test.send('POST', `${acme}/members`, { as: alice, payload })

      expect((await test.exchange(named('bot'), '')).statusCode).toBe(401)
    })

    it('returns 400 for an invalid member', async () => {
      for (const payload of [
        { username: named('bob'), role: 'member', password: 'short' },
        { username: named('bob'), role: 'root' },
        { username: 'Bob', role: 'member' },
        { username: named('bob'), role: null },
        { username: named('bob'), role: 'member', extra: 1 },
        { username: named('bob'), role: 'member', password: 'pal_pat_looks_like_a_token' },
        {},
      ]) {
        const response = await test.send('POST', `${acme}/members`, { as: alice, payload })

        expect(response.statusCode, JSON.stringify(payload)).toBe(400)
        expect(response.json()).toMatchObject({ error: { code: 'invalid_argument' } })
      }
    })

    it('keeps the last owner', async () => {
      const demote = () =>
        test.send('PATCH', `${acme}/members/${named('alice')}`, {
          as: alice,
          payload: { role: 'member' },
        })

      expect((await demote()).statusCode).toBe(409)
      expect(
        (await test.send('DELETE', `${acme}/members/${named('alice')}`, { as: alice })).statusCode,
      ).toBe(409)
      await addMember(named('zoe'), 'owner')
      expect((await demote()).statusCode).toBe(200)
    })

    it('refuses to grant or revoke permissions that the caller lacks', async () => {
      await addMember(named('bob'), 'member')
      const admin = await organizationToken(['organization:admin'])
      const add = (username: string, role: Role) =>
        test.send('POST', `${acme}/members`, { as: admin, payload: { username, role } })

      expect((await add(named('carl'), 'member')).statusCode).toBe(201)
      for (const role of ['owner', 'editor', 'auditor'] as const)
        expect((await add(named('dora'), role)).statusCode).toBe(403)
      const promote = await test.send('PATCH', `${acme}/members/${named('bob')}`, {
        as: admin,
        payload: { role: 'owner' },
      })
      expect(promote.statusCode).toBe(403)
      const removal = await test.send('DELETE', `${acme}/members/${named('alice')}`, { as: admin })
      expect(removal.statusCode).toBe(403)
    })
  })

  describe('of teams', () => {
    it('answers 404 for an unknown team or member, including those of a rival', async () => {
      const team = await createTeam('backend')
      const rival = await test.createOrganization(named('rival'), named('rita'))
      const rita = await test.signIn(named('rita'), rival.personal_token)

      for (const [method, url, as] of [
        ['DELETE', `/api/v1/orgs/${named('rival')}/teams/${team}`, rita],
        ['PUT', `/api/v1/orgs/${named('rival')}/teams/${team}/members/${named('rita')}`, rita],
        ['PUT', `${acme}/teams/${team}/members/${named('rita')}`, alice],
        ['DELETE', `${acme}/teams/${team}/members/${named('alice')}`, alice],
        ['DELETE', `${acme}/teams/not-a-uuid`, alice],
      ] as const)
        expect((await test.send(method, url, { as })).statusCode, url).toBe(404)
    })

    it('adds and removes members with any spelling of the id', async () => {
      const team = await createTeam('backend')
      const url = `${acme}/teams/${team.toUpperCase()}/members/${named('alice')}`

      const put = await test.send('PUT', url, { as: alice })
      expect([put.statusCode, put.json().teams]).toEqual([200, [team]])
      expect((await test.send('PUT', url, { as: alice })).statusCode).toBe(200)
      expect((await test.send('DELETE', url, { as: alice })).statusCode).toBe(204)
    })

    it('refuses a duplicate name', async () => {
      await createTeam('backend')

      const again = await test.send('POST', `${acme}/teams`, {
        as: alice,
        payload: { name: ' backend ' },
      })

      expect(again.statusCode).toBe(409)
      expect(again.json()).toMatchObject({ error: { code: 'conflict' } })
    })

    it('keeps a team that policies use and names these policies', async () => {
      const team = await createTeam('backend')
      const policies = `/v2/orgs/${named('acme')}/governance/policies`
      const payload = { name: 'backend only', scope: { teams: [team] } }
      const policy = await test.send('POST', policies, { as: alice, payload })
      expect(policy.statusCode, policy.body).toBe(201)

      const refused = await test.send('DELETE', `${acme}/teams/${team}`, { as: alice })

      expect(refused.statusCode).toBe(409)
      expect(refused.json().error.message).toContain('`backend only`')
      await test.send('DELETE', `${policies}/${policy.json().id}`, { as: alice })
      const removed = await test.send('DELETE', `${acme}/teams/${team}`, { as: alice })
      expect(removed.statusCode).toBe(204)
    })
  })

  describe('of access tokens', () => {
    const MINE = '/api/v1/user/access-tokens'

    it.each([
      ['owner', ['policies:read', 'policies:write', 'audit:read', 'organization:admin'], []],
      ['editor', ['policies:read', 'policies:write'], ['audit:read', 'organization:admin']],
      ['auditor', ['policies:read', 'audit:read'], ['policies:write', 'organization:admin']],
      ['member', [], ['policies:read', 'policies:write', 'audit:read', 'organization:admin']],
    ] as const)('gives an %s exactly the permissions of the role', async (role, held, denied) => {
      const as = await addMember(named('someone'), role)
      const create = (permissions: readonly string[]) =>
        test.send('POST', MINE, {
          as,
          payload: { name: 'mine', permissions, expires_in_days: 30 },
        })

      const created = await create(held)
      expect(created.statusCode, created.body).toBe(201)
      expect(created.json()).toMatchObject({
        name: 'mine',
        permissions: held,
        created_at: '2026-11-21T08:00:00.250Z',
        expires_at: '2026-12-21T08:00:00.250Z',
        token: expect.stringMatching(/^pal_pat_/),
      })
      for (const permission of denied) expect((await create([permission])).statusCode).toBe(403)
    })

    it('bounds a token by the token of its creator', async () => {
      const create = (as: string, permissions: string[]) =>
        test.send('POST', MINE, { as, payload: { name: 'x', permissions, expires_in_days: 1 } })
      const secret = (await create(alice, ['policies:read'])).json().token
      const narrow = await test.signIn(named('alice'), secret)
      const policies = `/v2/orgs/${named('acme')}/governance/policies`

      expect((await test.send('GET', policies, { as: narrow })).statusCode).toBe(200)
      const write = await test.send('POST', policies, { as: narrow, payload: { name: 'p' } })
      expect(write.statusCode).toBe(403)
      expect((await test.send('GET', `${acme}/members`, { as: narrow })).statusCode).toBe(403)
      expect((await create(narrow, ['policies:write'])).statusCode).toBe(403)
      expect((await create(narrow, ['policies:read'])).statusCode).toBe(201)
    })

    it('shrinks with the role of its owner', async () => {
      const ed = await addMember(named('ed'), 'editor')
      const payload = { name: 'x', permissions: ['policies:read'], expires_in_days: 1 }
      const secret = (await test.send('POST', MINE, { as: ed, payload })).json().token
      const token = await test.signIn(named('ed'), secret)
      const list = () =>
        test.send('GET', `/v2/orgs/${named('acme')}/governance/policies`, { as: token })
      expect((await list()).statusCode).toBe(200)

      await test.send('PATCH', `${acme}/members/${named('ed')}`, {
        as: alice,
        payload: { role: 'member' },
      })

      expect((await list()).statusCode).toBe(403)
    })

    it('lists and revokes those of the caller, without their secrets', async () => {
      const bob = await addMember(named('bob'), 'member')
      const payload = { name: 'mine', permissions: [], expires_in_days: 1 }
      const { id, token } = (await test.send('POST', MINE, { as: bob, payload })).json()

      const listed = await test.send('GET', MINE, { as: bob })
      expect(listed.json().data.map((token: { id: string }) => token.id)).toEqual([id])
      expect(listed.body).not.toContain(token)
      expect((await test.send('DELETE', `${MINE}/${id}`, { as: alice })).statusCode).toBe(404)
      expect((await test.send('DELETE', `${MINE}/${id}`, { as: bob })).statusCode).toBe(204)
      expect((await test.send('DELETE', `${MINE}/${id}`, { as: bob })).statusCode).toBe(404)
      expect((await test.send('GET', MINE, { as: bob })).json().data).toEqual([])
    })

    it('shows and revokes no token wider than the token of the caller', async () => {
      const make = async (permissions: readonly string[]) => {
        const payload = { name: 'x', permissions, expires_in_days: 1 }
        return (await test.send('POST', MINE, { as: alice, payload })).json<CreatedAccessToken>()
      }
      const [none, read, write] = [
        await make([]),
        await make(['policies:read']),
        await make(['policies:read', 'policies:write']),
      ]
      const as = await test.signIn(named('alice'), read.token)

      const listed = await test.send('GET', MINE, { as })
      const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id)
      const revoke = async ({ id }: CreatedAccessToken) =>
        (await test.send('DELETE', `${MINE}/${id}`, { as })).statusCode

      expect(idsOf(listed.json())).toEqual([none.id, read.id])
      expect(await revoke(write)).toBe(404)
      expect(await revoke(none)).toBe(204)
      expect(await revoke(read)).toBe(204)
      expect((await test.exchange(named('alice'), write.token)).statusCode).toBe(200)
      const all = await test.send('GET', MINE, { as: alice })
      expect(idsOf(all.json())).toContain(write.id)
    })

    it('refuses personal tokens to an organization token', async () => {
      const ci = await organizationToken(['organization:admin'])
      const payload = { name: 'x', permissions: [], expires_in_days: 1 }

      expect((await test.send('GET', MINE, { as: ci })).statusCode).toBe(403)
      expect((await test.send('POST', MINE, { as: ci, payload })).statusCode).toBe(403)
      expect((await test.send('DELETE', `${MINE}/${UNKNOWN}`, { as: ci })).statusCode).toBe(403)
      expect((await test.send('GET', MINE)).statusCode).toBe(401)
    })

    it('bounds an organization token by its creator and its organization', async () => {
      const admin = await organizationToken(['organization:admin'])
      const create = (permissions: string[]) =>
        test.send('POST', `${acme}/access-tokens`, {
          as: admin,
          payload: { name: 'x', permissions, expires_in_days: 1 },
        })
      await test.createOrganization(named('rival'), named('alice'))

      expect((await create(['policies:write'])).statusCode).toBe(403)
      expect((await create(['organization:admin'])).statusCode).toBe(201)
      expect(
        (await test.send('GET', `/api/v1/orgs/${named('rival')}/members`, { as: admin }))
          .statusCode,
      ).toBe(404)
    })

    it('returns 400 for an invalid token', async () => {
      for (const payload of [
        { name: 'x', permissions: ['policies:read', 'policies:read'], expires_in_days: 1 },
        { name: 'x', permissions: ['root'], expires_in_days: 1 },
        { name: 'x', permissions: [], expires_in_days: 0 },
        { name: 'x', permissions: [], expires_in_days: 1.5 },
        { name: '', permissions: [], expires_in_days: 1 },
        { name: 'x', permissions: [] },
      ]) {
        const response = await test.send('POST', MINE, { as: alice, payload })
        expect(response.statusCode, JSON.stringify(payload)).toBe(400)
      }
    })
  })
})

import {
  DEFAULT_ACCESS_SETTINGS,
  DEFAULT_DISTRIBUTION_SETTINGS,
  DEFAULT_EVIDENCE_SETTINGS,
  organizationSchema,
  type Permission,
} from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshNames } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

describe('an organization', () => {
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

  const get = (as: string) => test.send('GET', acme, { as })
  const patch = (as: string, payload: object) => test.send('PATCH', acme, { as, payload })

  const organizationToken = (permissions: Permission[]) => owner.organizationToken(permissions)
  const addMember = (username: string) => owner.addMember(username, 'member')

  it('shows its settings to every member', async () => {
    const bob = await addMember(named('bob'))

    const shown = await get(bob)

    expect(shown.statusCode).toBe(200)
    expect(organizationSchema.parse(shown.json())).toEqual({
      name: named('acme'),
      entitled: true,
      resolve_unlisted_names: false,
      distribution: DEFAULT_DISTRIBUTION_SETTINGS,
      evidence: DEFAULT_EVIDENCE_SETTINGS,
      access: DEFAULT_ACCESS_SETTINGS,
      revision: 2,
      created_at: '2026-11-21T08:00:00.250Z',
    })
    expect((await get(await organizationToken([]))).statusCode).toBe(200)
  })

  it('is 404 for strangers', async () => {
    const { personal_token } = await test.createOrganization(named('rival'), named('rita'))
    const rita = await test.signIn(named('rita'), personal_token)
    const message = async (url: string, method: 'GET' | 'PATCH') => {
      const response = await test.send(method, url, { as: rita, payload: {} })
      return [response.statusCode, response.json().error.message]
    }

    for (const method of ['GET', 'PATCH'] as const)
      expect(await message(acme, method)).toEqual(await message('/api/v1/orgs/absent', method))
    expect((await get(rita)).statusCode).toBe(404)
    expect((await test.send('GET', acme)).statusCode).toBe(401)
  })

  it('lets administrators change how unlisted names are resolved', async () => {
    const { revision } = (await get(alice)).json()

    const changed = await patch(alice, { resolve_unlisted_names: true })

    expect(changed.statusCode).toBe(200)
    expect(changed.json()).toMatchObject({ resolve_unlisted_names: true, revision: revision + 1 })
    expect((await get(alice)).json()).toEqual(changed.json())
  })

  it('lets administrators choose how long machines trust a policy, with an event', async () => {
    const { revision } = (await get(alice)).json()
    const chosen = { fresh_for_seconds: 3600, offline_allow: ['vpn.example.com:443', '192.0.2.7'] }

    const changed = await patch(alice, { distribution: chosen })

    const distribution = { ...chosen, expires_after_seconds: 604_800 }
    expect(changed.statusCode).toBe(200)
    expect(changed.json()).toMatchObject({ distribution, revision: revision + 1 })
    expect((await get(alice)).json()).toEqual(changed.json())
    const events = await test.send('GET', `${acme}/events?kind=organization.updated`, { as: alice })
    expect(events.json().data).toMatchObject([
      {
        actor: `user:${named('alice')}`,
        before: { distribution: DEFAULT_DISTRIBUTION_SETTINGS },
        after: { distribution },
      },
    ])
  })

  it('lets administrators choose which records machines upload, with an event', async () => {
    const { revision } = (await get(alice)).json()

    const changed = await patch(alice, { evidence: { upload: 'sampled', path_depth: 2 } })

    const evidence = { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'sampled', path_depth: 2 }
    expect(changed.statusCode).toBe(200)
    expect(changed.json()).toMatchObject({ evidence, revision: revision + 1 })
    expect((await get(alice)).json()).toEqual(changed.json())
    const events = await test.send('GET', `${acme}/events?kind=organization.updated`, { as: alice })
    expect(events.json().data).toMatchObject([
      {
        actor: `user:${named('alice')}`,
        before: { evidence: DEFAULT_EVIDENCE_SETTINGS },
        after: { evidence },
      },
    ])
  })

  it('refuses settings of uploads that machines could not read', async () => {
    for (const [evidence, field] of [
      [{ upload: 'some' }, 'evidence.upload'],
      [{ upload: null }, 'evidence.upload'],
      [{ sample_percent: 0 }, 'evidence.sample_percent'],
      [{ sample_percent: 101 }, 'evidence.sample_percent'],
      [{ path_depth: -1 }, 'evidence.path_depth'],
      [{ path_depth: 1.5 }, 'evidence.path_depth'],
      [{ programs: 'yes' }, 'evidence.programs'],
      [{ hashes: true }, 'evidence.hashes'],
      [{}, 'evidence'],
    ] as const) {
      const { statusCode, body } = await patch(alice, { evidence })
      const { error } = JSON.parse(body) as { error: { code: string; field?: string } }
      expect([statusCode, error.code, error.field], body).toEqual([400, 'invalid_argument', field])
    }
    const bob = await addMember(named('bob'))
    expect((await patch(bob, { evidence: { upload: 'full' } })).statusCode).toBe(403)
    expect((await get(alice)).json()).toMatchObject({ evidence: DEFAULT_EVIDENCE_SETTINGS })
  })

  it('refuses times out of bounds and hosts that machines would refuse', async () => {
    for (const [distribution, field] of [
      [{ fresh_for_seconds: 3599 }, 'distribution.fresh_for_seconds'],
      [{ fresh_for_seconds: 2_592_001 }, 'distribution.fresh_for_seconds'],
      [{ fresh_for_seconds: 7200.5 }, 'distribution.fresh_for_seconds'],
      [{ expires_after_seconds: 7_776_001 }, 'distribution.expires_after_seconds'],
      [{ expires_after_seconds: 86_399 }, 'distribution.expires_after_seconds'],
      [{ fresh_for_seconds: 604_801 }, 'distribution.expires_after_seconds'],
      [{ offline_allow: ['vpn.example.com', '*.*'] }, 'distribution.offline_allow[1]'],
      [{ offline_allow: ['/data/**'] }, 'distribution.offline_allow[0]'],
      [{ offline_allow: [''] }, 'distribution.offline_allow[0]'],
      [{ offline_allow: Array(101).fill('a.example') }, 'distribution.offline_allow'],
      [{ offline_allow: null }, 'distribution.offline_allow'],
      [{ poll_seconds: 60 }, 'distribution.poll_seconds'],
      [{}, 'distribution'],
    ] as const) {
      const { statusCode, body } = await patch(alice, { distribution })
      const { error } = JSON.parse(body) as { error: { code: string; field?: string } }
      expect([statusCode, error.code, error.field], body).toEqual([400, 'invalid_argument', field])
    }
    expect((await get(alice)).json()).toMatchObject({
      distribution: DEFAULT_DISTRIBUTION_SETTINGS,
      revision: 1,
    })
  })

  it('writes no event without a change', async () => {
    const before = (await get(alice)).json()
    const same = { distribution: { fresh_for_seconds: 86_400, offline_allow: [] } }
    expect((await patch(alice, same)).json()).toEqual(before)
    const asBefore = { evidence: { upload: 'off', programs: false } }
    expect((await patch(alice, asBefore)).json()).toEqual(before)

    expect((await patch(alice, { resolve_unlisted_names: false })).json()).toEqual(before)
  })

  it('does not let members change its entitlement or name', async () => {
    const bob = await addMember(named('bob'))
    for (const payload of [
      { entitled: true },
      { name: 'other' },
      { revision: 7 },
      { resolve_unlisted_names: true, entitled: true },
      { resolve_unlisted_names: 'yes' },
      { resolve_unlisted_names: null },
      { support_message: 'a\nb' },
      { support_message: 'a\u001b[31m' },
      { support_message: '' },
      { support_message: 'x'.repeat(501) },
      {},
    ])
      expect((await patch(alice, payload)).statusCode, JSON.stringify(payload)).toBe(400)
    const longer = { distribution: { fresh_for_seconds: 2_592_000 } }
    expect((await patch(bob, longer)).statusCode).toBe(403)
    const payload = { resolve_unlisted_names: true }
    expect((await patch(bob, payload)).statusCode).toBe(403)
    expect((await patch(await organizationToken(['policies:write']), payload)).statusCode).toBe(403)
    expect((await get(alice)).json()).toMatchObject({ resolve_unlisted_names: false })
  })

  it('loses governance and gets it back at the next request', async () => {
    const policies = async () =>
      (await test.send('GET', `/v2/orgs/${named('acme')}/governance/policies`, { as: alice }))
        .statusCode
    const entitle = (entitled: boolean) =>
      test.store.transaction(({ organizations }) =>
        organizations.updateEntitled(named('acme'), entitled),
      )
    expect(await policies()).toBe(200)

    await entitle(false)
    expect([await policies(), (await get(alice)).json().entitled]).toEqual([403, false])

    await entitle(true)
    expect(await policies()).toBe(200)
  })

  it('is listed with the permissions of its user, bounded by the token', async () => {
    const bob = await addMember(named('bob'))
    const { personal_token } = await test.createOrganization(named('rival'), named('bob'), false)
    const list = async (as: string) =>
      (await test.send('GET', '/api/v1/user/organizations', { as })).json().data

    expect(await list(bob)).toEqual([
      { name: named('acme'), role: 'member', permissions: [], entitled: true },
      {
        name: named('rival'),
        role: 'owner',
        permissions: ['policies:read', 'policies:write', 'audit:read', 'organization:admin'],
        entitled: false,
      },
    ])
    const payload = { name: 'narrow', permissions: ['audit:read'], expires_in_days: 1 }
    const as = await test.signIn(named('bob'), personal_token)
    const made = await test.send('POST', '/api/v1/user/access-tokens', { as, payload })
    const narrow = await list(await test.signIn(named('bob'), made.json().token))
    expect(narrow.map(({ permissions }: { permissions: string[] }) => permissions)).toEqual([
      [],
      ['audit:read'],
    ])
    const ci = await organizationToken(['organization:admin'])
    expect((await test.send('GET', '/api/v1/user/organizations', { as: ci })).statusCode).toBe(403)
  })
})

import { describe, expect, it } from 'vitest'
import type { Store, StoreWriter } from '../../../server/src/store/store.ts'
import { device, enrolmentToken, personalToken, signingKey } from './credential-records.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const FIRST = { after: '', window: 9, limit: 9 }
const LATER = '2026-11-21T09:00:00.000Z'

/** Guarantees of every driver for tokens and devices; `store` holds the seed of `describeStore`. */
export function describeCredentials(store: () => Store): void {
  describe('credentials', () => {
    it('finds secret tokens by hash and lists those not revoked', async () => {
      const token = (id: string, owner: { username: string } | { org: string }) => ({
        ...('org' in owner
          ? { kind: 'organization' as const, ...owner }
          : { kind: 'personal' as const, ...owner }),
        id,
        name: id,
        permissions: ['policies:read' as const],
        secret_hash: `hash of ${id}`,
        created_at: NOW,
        expires_at: LATER,
        revoked_at: null,
        parent_id: null,
        prefix: 'pal_0000',
        created_by: 'operator',
        last_used_at: null,
      })
      await store().transaction(async (writer) => {
        await writer.accessTokens.insert(token('t1', { username: 'ann' }))
        await writer.accessTokens.insert(token('t2', { username: 'ann' }))
        await writer.accessTokens.insert(token('t3', { org: 'acme' }))
        await writer.accessTokens.revoke('t1', LATER)
      })

      await store().read(async (reader) => {
        const { accessTokens } = reader
        expect(await accessTokens.findBySecretHash('hash of t1')).toMatchObject({
          username: 'ann',
          revoked_at: LATER,
        })
        expect(await accessTokens.findBySecretHash('hash of t9')).toBeNull()
        expect((await accessTokens.listOfUser('ann')).map(({ id }) => id)).toEqual(['t2'])
        expect((await accessTokens.listOfUser('bob')).map(({ id }) => id)).toEqual([])
        expect((await accessTokens.listOfOrganization('acme')).map(({ id }) => id)).toEqual(['t3'])
        expect(await accessTokens.find('t3')).toEqual(token('t3', { org: 'acme' }))
      })
    })

    it('revokes a secret token with all its descendants, once each', async () => {
      const token = (id: string, parent_id: string | null) => personalToken(id, { parent_id })
      await store().transaction(async (writer) => {
        const { accessTokens } = writer
        await accessTokens.insert(token('root', null))
        await accessTokens.insert(token('child', 'root'))
        await accessTokens.insert(token('early', 'root'))
        await accessTokens.insert(token('early child', 'early'))
        await accessTokens.insert(token('grandchild', 'child'))
        const { username: _username, ...shared } = token('of acme', 'grandchild')
        await accessTokens.insert({ ...shared, kind: 'organization', org: 'acme' })
        expect(await accessTokens.rootOf('of acme')).toBe('root')
        expect(await accessTokens.rootOf('root')).toBe('root')
        const early = await accessTokens.revoke('early', NOW)
        expect(early.map(({ id }) => id)).toEqual(['early', 'early child'])
        await accessTokens.insert(token('stranger', null))
        const revoked = await accessTokens.revoke('root', LATER)
        expect(revoked.map(({ id, revoked_at }) => [id, revoked_at])).toEqual([
          ['root', LATER],
          ['child', LATER],
          ['grandchild', LATER],
          ['of acme', LATER],
        ])
        expect(await accessTokens.revoke('root', LATER)).toEqual([])
      })

      await store().read(async (reader) => {
        const revokedAt = async (id: string) => (await reader.accessTokens.find(id))?.revoked_at
        for (const id of ['root', 'child', 'grandchild', 'of acme'])
          expect(await revokedAt(id), id).toBe(LATER)
        expect(await revokedAt('early child')).toBe(NOW)
        expect(await revokedAt('early')).toBe(NOW)
        expect(await reader.accessTokens.hasPending()).toBe(false)
        expect(await revokedAt('stranger')).toBeNull()
        expect(await reader.accessTokens.find('child')).toMatchObject({ parent_id: 'root' })
      })
    })

    it('notes the last use of a secret token, never an earlier one', async () => {
      const token = {
        kind: 'organization' as const,
        org: 'acme',
        id: 't1',
        name: 'ci',
        permissions: [],
        secret_hash: 'hash of t1',
        created_at: NOW,
        expires_at: LATER,
        revoked_at: null,
        parent_id: null,
        prefix: 'pal_oat_1234',
        created_by: 'user:ann',
        last_used_at: null,
      }
      const { revision } = await store().transaction(async (writer) => {
        await writer.accessTokens.insert(token)
        return (await writer.organizations.find('acme')) ?? { revision: -1 }
      })
      for (const instant of [NOW, LATER, NOW])
        await store().transaction((writer) => writer.accessTokens.touch('t1', instant))

      await store().read(async ({ accessTokens, organizations }) => {
        expect(await accessTokens.find('t1')).toEqual({ ...token, last_used_at: LATER })
        expect(await organizations.find('acme')).toMatchObject({ revision })
      })
    })

    it('lists the organization tokens by creator, until they are revoked', async () => {
      const token = (id: string, created_by: string) => ({
        id,
        name: id,
        permissions: [],
        secret_hash: `hash of ${id}`,
        created_at: NOW,
        expires_at: LATER,
        revoked_at: null,
        parent_id: null,
        prefix: 'pal_0000',
        created_by,
        last_used_at: null,
      })
      const of = (org: string) => ({ kind: 'organization' as const, org })
      await store().transaction(async ({ accessTokens }) => {
        await accessTokens.insert({ ...of('acme'), ...token('t1', 'user:ann') })
        await accessTokens.insert({ ...of('rival'), ...token('t2', 'user:ann') })
        await accessTokens.insert({ ...of('acme'), ...token('t3', 'user:ann') })
        await accessTokens.insert({ ...of('acme'), ...token('t4', 'user:bob') })
        await accessTokens.insert({ ...of('acme'), ...token('t5', 'operator') })
        await accessTokens.insert({
          kind: 'personal',
          username: 'ann',
          ...token('t6', 'user:ann'),
        })
        await accessTokens.revoke('t3', LATER)
      })

      const made = await store().read((reader) => reader.accessTokens.listMadeBy('user:ann'))
      expect(made.map(({ id, org }) => [id, org])).toEqual([
        ['t1', 'acme'],
        ['t2', 'rival'],
      ])
    })

    it('finds the organizations that own an account, while its user is in them', async () => {
      const owners = () => store().read((reader) => reader.memberships.ownersOfAccount('cid'))
      const join = (org: string, ownsAccount: boolean) => (writer: StoreWriter) =>
        writer.memberships.insert({ org, username: 'cid', role: 'member' }, { ownsAccount })
      await store().transaction((writer) => writer.memberships.delete('rival', 'cid'))
      await store().transaction(join('rival', true))
      await store().transaction(join('acme', false))
      expect(await owners()).toEqual(['rival'])
      const accountsOf = (org: string, after: string) =>
        store().read((reader) => reader.memberships.accountsOf(org, { after, limit: 1 }))
      expect(await accountsOf('rival', '')).toEqual(['cid'])
      expect(await accountsOf('rival', 'cid')).toEqual([])
      expect(await accountsOf('acme', '')).not.toContain('cid')

      await store().transaction((writer) => writer.memberships.delete('rival', 'cid'))
      expect(await owners()).toEqual([])
      expect(await accountsOf('rival', '')).toEqual(['cid'])
      await store().transaction(join('rival', false))
      expect(await owners()).toEqual(['rival'])
      await store().transaction((writer) => writer.memberships.delete('rival', 'cid'))
      await store().transaction(join('rival', true))
      expect(await owners()).toEqual(['rival'])
    })

    it('remembers when the external sessions of a user were ended', async () => {
      const end = (username: string) =>
        store().transaction((writer) => writer.users.endExternalSessions(username, LATER))
      const endOf = async (username: string) =>
        (await store().read((reader) => reader.users.find(username)))?.external_not_before
      expect(await endOf('ann')).toBeNull()

      await end('ann')

      expect([await endOf('ann'), await endOf('bob')]).toEqual([LATER, null])
      await expect(end('nobody')).rejects.toMatchObject({ code: 'ERR_STORE_NOT_FOUND' })
    })

    it('counts the passwords of a user', async () => {
      const passwordOf = async (username: string) => {
        const user = await store().read((reader) => reader.users.find(username))
        return [user?.password_hash, user?.password_generation]
      }
      expect(await passwordOf('ann')).toEqual([null, 0])

      await store().transaction((writer) => writer.users.updatePassword('ann', 'hash 1'))
      expect(await passwordOf('ann')).toEqual(['hash 1', 1])
      await store().transaction((writer) => writer.users.updatePassword('ann', null))

      expect(await passwordOf('ann')).toEqual([null, 2])
      expect(await passwordOf('bob')).toEqual([null, 0])
      await expect(
        store().transaction((writer) => writer.users.updatePassword('nobody', 'hash')),
      ).rejects.toMatchObject({ code: 'ERR_STORE_NOT_FOUND' })
    })

    it('raises the revision when an organization gains or loses governance', async () => {
      const find = () => store().read((reader) => reader.organizations.find('acme'))
      const before = await find()

      await store().transaction((writer) => writer.organizations.updateEntitled('acme', false))

      expect(await find()).toEqual({
        ...before,
        entitled: false,
        revision: (before?.revision ?? 0) + 1,
      })
    })

    it('deletes the private part of a signing key with its retirement', async () => {
      const key = signingKey('k1')
      const retired = { ...key, private_jwk: { kty: 'OKP', x: 'public' }, verifies_until: LATER }
      await store().transaction(async (writer) => {
        await writer.signingKeys.insert(key)
        await writer.signingKeys.insert({ ...key, kid: 'k2' })
        expect(await writer.signingKeys.retire('k1', LATER)).toEqual(retired)
        await expect(writer.signingKeys.retire('k9', LATER)).rejects.toMatchObject({
          code: 'ERR_STORE_NOT_FOUND',
        })
      })

      const keys = await store().read((reader) => reader.signingKeys.list('access_token'))
      expect(keys).toEqual([retired, { ...key, kid: 'k2' }])
    })

    it('refuses a secret token without its parent', async () => {
      const attempt = store().transaction((writer) =>
        writer.accessTokens.insert({
          kind: 'personal',
          username: 'ann',
          id: 'orphan',
          name: 'orphan',
          permissions: [],
          secret_hash: 'hash',
          created_at: NOW,
          expires_at: LATER,
          revoked_at: null,
          parent_id: 'nobody',
          prefix: 'pal_0000',
          created_by: 'operator',
          last_used_at: null,
        }),
      )

      await expect(attempt).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })
    })

    it('finds enrolment tokens until they or their ancestors are revoked', async () => {
      const live = () =>
        store().read(async ({ enrolmentTokens }) => ({
          acme: (await enrolmentTokens.list('acme')).map(({ id }) => id),
          rival: (await enrolmentTokens.list('rival')).map(({ id }) => id),
          child: (await enrolmentTokens.findBySecretHash('hash of child'))?.id,
        }))
      const parent = {
        kind: 'organization' as const,
        org: 'acme',
        id: 'parent',
        name: 'parent',
        permissions: [],
        secret_hash: 'hash of parent',
        created_at: NOW,
        expires_at: LATER,
        revoked_at: null,
        parent_id: null,
        prefix: 'pal_0000',
        created_by: 'operator',
        last_used_at: null,
      }
      await store().transaction(async ({ accessTokens, enrolmentTokens }) => {
        await accessTokens.insert(parent)
        await enrolmentTokens.insert(enrolmentToken('e2'))
        await enrolmentTokens.insert({ ...enrolmentToken('child'), parent_id: 'parent' })
        await enrolmentTokens.insert({ ...enrolmentToken('e1'), created_by: 'user:bob' })
        await enrolmentTokens.insert({ ...enrolmentToken('e0'), org: 'rival' })
      })
      expect(await live()).toEqual({ acme: ['e2', 'child', 'e1'], rival: ['e0'], child: 'child' })

      await store().transaction(async ({ accessTokens, enrolmentTokens }) => {
        await accessTokens.revoke('parent', NOW)
        expect(await enrolmentTokens.use('child', NOW)).toBeNull()
        expect(await enrolmentTokens.revoke('rival', 'e2', NOW)).toBeNull()
        expect(await enrolmentTokens.revoke('acme', 'e2', NOW)).toEqual({
          ...enrolmentToken('e2'),
          revoked_at: NOW,
        })
        expect(await enrolmentTokens.revoke('acme', 'e2', LATER)).toBeNull()
        expect(await enrolmentTokens.use('e2', NOW)).toBeNull()
        expect(await enrolmentTokens.revokeMadeBy('rival', 'user:bob', NOW)).toEqual([])
        const made = await enrolmentTokens.revokeMadeBy('acme', 'user:bob', NOW)
        expect(made.map(({ id }) => id)).toEqual(['e1'])
      })
      expect(await live()).toEqual({ acme: [], rival: ['e0'], child: undefined })
    })

    it('revokes one device, or all of a user in an organization', async () => {
      const device = (id: string, org: string, username: string | null) => ({
        id,
        org,
        username,
        thumbprint: `hash of ${id}`,
        name: null,
        labels: [],
        enrolment_token_id: null,
        created_at: NOW,
        revoked_at: null,
      })
      await store().transaction(async (writer) => {
        await writer.devices.insert(device('d1', 'acme', 'ann'))
        await writer.devices.insert(device('d2', 'rival', 'ann'))
        await writer.devices.insert(device('d3', 'acme', null))
        await writer.devices.insert(device('d4', 'acme', 'bob'))
        await writer.devices.insert(device('d0', 'acme', 'ann'))
        const revoked = await writer.devices.revokeOfUser('acme', 'ann', LATER)
        expect(revoked).toEqual(
          ['d0', 'd1'].map((id) => ({ ...device(id, 'acme', 'ann'), revoked_at: LATER })),
        )
        expect(await writer.devices.revoke('d4', NOW)).toMatchObject({ id: 'd4', revoked_at: NOW })
        expect(await writer.devices.revoke('d4', LATER)).toBeNull()
      })

      const revoked = await store().read((reader) =>
        Promise.all(
          [
            ['acme', 'd1'],
            ['rival', 'd2'],
            ['acme', 'd3'],
            ['acme', 'd4'],
          ].map(async ([org = '', id = '']) => (await reader.devices.find(org, id))?.revoked_at),
        ),
      )

      expect(revoked).toEqual([LATER, null, null, NOW])
      const found = await store().read((reader) => reader.devices.findByThumbprint('hash of d3'))
      expect(found).toEqual(device('d3', 'acme', null))
    })

    it('stores each key for one device, and changes its labels', async () => {
      const device = (id: string, thumbprint: string) => ({
        id,
        org: 'acme',
        username: null,
        thumbprint,
        name: null,
        labels: ['ci'],
        enrolment_token_id: null,
        created_at: NOW,
        revoked_at: null,
      })
      await store().transaction(async ({ devices }) => {
        for (const each of [device('d1', 'one'), device('d2', 'two'), device('d3', 'three')])
          await devices.insert(each)
        await devices.setLabels('acme', 'd1', ['linux', 'vm'])
        await devices.setLabels('rival', 'd2', [])
      })

      const again = store().transaction(({ devices }) => devices.insert(device('d4', 'one')))
      await expect(again).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })

      const labels = await store().read(async ({ devices }) => {
        const found = await devices.search('acme', {}, FIRST)
        return found.devices.map((each) => each.labels)
      })
      expect(labels).toEqual([['linux', 'vm'], ['ci'], ['ci']])
    })

    it('stores the last poll of each device without raising a revision', async () => {
      await store().transaction(async (writer) => {
        for (const each of [device('d1', 'acme'), device('d2', 'rival'), device('d3', 'acme')])
          await writer.devices.insert(each)
      })
      const revision = () =>
        store().read(async (reader) => (await reader.organizations.find('acme'))?.revision)
      const before = await revision()

      await store().transaction(async (writer) => {
        await writer.devicePolls.record('d1', LATER)
        await writer.devicePolls.record('d1', NOW)
        await writer.devicePolls.record('d2', NOW)
      })

      await store().read(async (reader) => {
        expect(await reader.devicePolls.list(['d1', 'd3'])).toEqual(new Map([['d1', LATER]]))
        expect(await reader.devicePolls.list(['d3'])).toEqual(new Map())
        expect(await reader.devicePolls.list([])).toEqual(new Map())
        expect(await reader.devicePolls.list(['d2'])).toEqual(new Map([['d2', NOW]]))
      })
      expect(await revision()).toBe(before)
    })

    it('stores the newest assignment of each device without raising a revision', async () => {
      await store().transaction(async (writer) => {
        for (const each of [device('d1', 'acme'), device('d2', 'rival'), device('d3', 'acme')])
          await writer.devices.insert(each)
      })
      const revision = () =>
        store().read(async (reader) => (await reader.organizations.find('acme'))?.revision)
      const before = await revision()
      const [d1, d2] = [
        { device_id: 'd1', view_id: 'a', version: 3 },
        { device_id: 'd2', view_id: 'b', version: 1_795_000_000 },
      ]

      await store().transaction(async ({ deviceAssignments }) => {
        await deviceAssignments.put([{ ...d1, view_id: 'b', version: 2 }, d2])
        await deviceAssignments.put([d1])
        await deviceAssignments.put([])
      })

      await store().read(async ({ deviceAssignments }) => {
        const kept = await deviceAssignments.list(['d1', 'd2', 'd3'])
        expect([...kept.values()]).toEqual(expect.arrayContaining([d1, d2]))
        expect(kept.size).toBe(2)
        expect(await deviceAssignments.list([])).toEqual(new Map())
      })
      expect(await revision()).toBe(before)
    })

    it('stores the newest report of each device without raising a revision', async () => {
      const report = (device_id: string, reported_at: string, revision: number | null) => ({
        device_id,
        reported_at,
        revision,
        state: 'rejected' as const,
        error_code: revision === null ? null : 'not_compilable',
        error_detail: revision === null ? null : 'rule `x`',
        grant_id: revision === null ? null : 'g1',
        grant_begun_at: revision === null ? null : NOW,
        agent_version: '0.1.0',
        proxy_enforcement: revision === null ? null : ('failed' as const),
        assurance: null,
        policy_digest: revision === null ? null : 'd1'.repeat(32),
      })
      await store().transaction(async (writer) => {
        for (const each of [device('d1', 'acme'), device('d2', 'rival'), device('d3', 'acme')])
          await writer.devices.insert(each)
      })
      const revision = () =>
        store().read(async (reader) => (await reader.organizations.find('acme'))?.revision)
      const before = await revision()

      await store().transaction(async ({ deviceReports }) => {
        await deviceReports.put([])
        await deviceReports.put([report('d3', NOW, null), report('d1', LATER, 2 ** 53 - 1)])
        await deviceReports.put([report('d1', NOW, 1)])
        await deviceReports.put([report('gone', NOW, 1), report('d2', NOW, 1)])
        await deviceReports.put([report('d3', LATER, 7)])
      })

      await store().read(async (reader) => {
        expect(await reader.deviceReports.list(['d1', 'd3', 'd4'])).toEqual(
          new Map([
            ['d1', report('d1', LATER, 2 ** 53 - 1)],
            ['d3', report('d3', LATER, 7)],
          ]),
        )
        expect([...(await reader.deviceReports.list(['d2'])).keys()]).toEqual(['d2'])
      })
      expect(await revision()).toBe(before)
    })

    it('lists only devices of one organization, by ascending id', async () => {
      const d1 = device('d1', 'acme', LATER)
      const [d2, d3] = [device('d2', 'rival'), device('d3', 'acme')]
      await store().transaction(async (writer) => {
        for (const each of [d3, d1, d2]) await writer.devices.insert(each)
      })

      await store().read(async (reader) => {
        const list = (page: object = {}, org = 'acme') =>
          reader.devices.search(org, {}, { ...FIRST, ...page })
        expect(await list()).toEqual({ devices: [d1, d3], through: null })
        expect(await list({ after: 'd1' })).toEqual({ devices: [d3], through: null })
        expect(await list({ limit: 1 })).toEqual({ devices: [d1], through: null })
        expect(await list({ window: 1 })).toEqual({ devices: [d1], through: 'd1' })
        expect(await list({}, 'rival')).toEqual({ devices: [d2], through: null })
        expect(await list({}, 'absent')).toEqual({ devices: [], through: null })
        expect(await reader.devices.findById('d2')).toEqual(d2)
        expect(await reader.devices.findById('d9')).toBeNull()
        expect(await reader.devices.countLive('acme')).toBe(1)
        expect(await reader.devices.listLiveUsers('acme')).toEqual([null])
        expect(await reader.devices.find('acme', 'd3')).toEqual(d3)
        expect(await reader.devices.find('rival', 'd3')).toBeNull()
      })
    })
  })
}

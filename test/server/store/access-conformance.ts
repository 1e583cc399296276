import { describe, expect, it } from 'vitest'
import type { AccessRequestRecord } from '../../../server/src/store/access-records.ts'
import type { AccessRequestPage } from '../../../server/src/store/aggregates/policies/access-request-contract.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'
const LATER_SECONDS = Date.parse(LATER) / 1000
const TEAM = '11111111-1111-4111-8111-111111111111'
const OTHER_TEAM = '22222222-2222-4222-8222-222222222222'
const ANY = { before: '', limit: 10, state: null, username: null, seenBy: null }

export function accessRequest(
  id: string,
  more: Partial<AccessRequestRecord> = {},
): AccessRequestRecord {
  return {
    id: `acr_${id.padStart(28, '0')}`,
    org: 'acme',
    username: 'bob',
    device_id: null,
    state: 'pending',
    action: 'connect:tcp',
    resources: ['Example.com:443'],
    duration_seconds: 3600,
    once: false,
    reason: 'a release',
    created_at: NOW,
    due_at: LATER,
    decided_at: null,
    decided_by: null,
    answer: null,
    grant: null,
    ...more,
  }
}

export function approved(request: AccessRequestRecord, until = LATER): AccessRequestRecord {
  return {
    ...request,
    state: 'approved',
    due_at: until,
    decided_at: NOW,
    decided_by: 'user:ann',
    grant: { resources: ['example.com:443'], not_before: NOW, expires_at: until, once: true },
  }
}

const ended = (request: AccessRequestRecord, state: AccessRequestRecord['state']) => ({
  ...request,
  state,
  due_at: null,
  decided_at: LATER,
})

/** Guarantees of every driver for access requests; `store` holds the seed of `describeStore`. */
export function describeAccessRequests(store: () => Store): void {
  const device = (id: string, username: string | null, org = 'acme') => ({
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
  const insert = (...requests: AccessRequestRecord[]) =>
    store().transaction(async ({ accessRequests }) => {
      for (const each of requests) await accessRequests.insert(each)
    })
  const update = (request: AccessRequestRecord, from: AccessRequestRecord['state']) =>
    store().transaction(({ accessRequests }) => accessRequests.update(request, from))

  describe('access requests', () => {
    const [one, two, three] = [accessRequest('1'), accessRequest('2'), accessRequest('3')]

    it('are kept as they are', async () => {
      await store().transaction((writer) => writer.devices.insert(device('d1', 'bob')))
      const full = approved(accessRequest('1', { device_id: 'd1', once: true }))
      await insert(full, two)

      await store().read(async ({ accessRequests }) => {
        expect(await accessRequests.find('acme', full.id)).toEqual(full)
        expect(await accessRequests.find('acme', two.id)).toEqual(two)
        expect(await accessRequests.find('rival', full.id)).toBeNull()
      })
      await expect(insert(two)).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })
    })

    it('are paged from the newest, by state and user', async () => {
      const others = [
        accessRequest('4', { username: 'ann' }),
        accessRequest('5', { org: 'rival', username: 'cid' }),
      ]
      await insert(one, approved(two), three, ...others)
      const page = (more: Partial<AccessRequestPage>) =>
        store().read(async ({ accessRequests }) =>
          (await accessRequests.page('acme', { ...ANY, ...more })).map(({ id }) => id),
        )

      expect(await page({})).toEqual([others[0]?.id, three.id, two.id, one.id])
      expect(await page({ limit: 2 })).toEqual([others[0]?.id, three.id])
      expect(await page({ before: three.id })).toEqual([two.id, one.id])
      expect(await page({ state: 'approved' })).toEqual([two.id])
      expect(await page({ username: 'ann' })).toEqual([others[0]?.id])
      expect(await page({ username: 'ann', state: 'approved' })).toEqual([])
    })

    it('are seen by their user, and by approvers of a team of the user', async () => {
      await insert(one, accessRequest('2', { username: 'ann' }))
      const seenBy = (who: string) =>
        store().read(async ({ accessRequests }) => {
          const rows = await accessRequests.page('acme', { ...ANY, seenBy: who })
          return rows.map(({ username }) => username)
        })
      await store().transaction(async ({ accessRequests }) => {
        await accessRequests.addApprover('acme', OTHER_TEAM, 'ann')
      })
      expect(await seenBy('bob')).toEqual(['bob'])
      expect(await seenBy('ann')).toEqual(['ann'])

      await store().transaction(({ accessRequests }) =>
        accessRequests.addApprover('acme', TEAM, 'ann'),
      )

      expect(await seenBy('ann')).toEqual(['ann', 'bob'])
    })

    it('have one decision: of two from the same state one is refused', async () => {
      await insert(one)

      expect(await update(approved(one), 'pending')).toBe(true)
      expect(await update(ended(one, 'rejected'), 'pending')).toBe(false)

      const found = await store().read((reader) => reader.accessRequests.find('acme', one.id))
      expect(found).toEqual(approved(one))
    })

    it('are open, granted or due by their state and time', async () => {
      await insert(one, approved(two), accessRequest('3', { username: 'ann', due_at: NOW }))
      await update(ended(one, 'withdrawn'), 'pending')

      await store().read(async ({ accessRequests }) => {
        const ids = (rows: readonly AccessRequestRecord[]) => rows.map(({ id }) => id)
        expect(ids(await accessRequests.listOpen('acme', 'bob'))).toEqual([two.id])
        expect(ids(await accessRequests.listGrants('acme', 'bob', NOW))).toEqual([two.id])
        expect(await accessRequests.listGrants('acme', 'bob', LATER)).toEqual([])
        expect(await accessRequests.listGrants('rival', 'bob', NOW)).toEqual([])
        expect(ids(await accessRequests.listDue(NOW, 10))).toEqual([three.id])
        expect(ids(await accessRequests.listDue(LATER, 10))).toEqual([three.id, two.id])
        expect(await accessRequests.listDue(LATER, 1)).toHaveLength(1)
      })
    })

    it('count the grants that begin and are revoked, and name their users', async () => {
      await insert(one, two, accessRequest('3', { org: 'rival', username: 'cid' }))
      const changes = () => store().read(({ accessRequests }) => accessRequests.grantChanges())
      const holdersSince = (count: number) =>
        store().read(({ accessRequests }) => accessRequests.holdersSince(count))
      expect(await changes()).toBe(0)

      await update(approved(one), 'pending')
      await update(approved(two), 'pending')
      const before = await changes()
      await update(ended(approved(one), 'revoked'), 'approved')

      expect(before).toBe(2)
      expect(await changes()).toBe(3)
      expect(await holdersSince(0)).toEqual([{ org: 'acme', username: 'bob' }])
      expect(await holdersSince(3)).toEqual([])
      await update(ended(approved(two), 'expired'), 'approved')
      expect(await changes()).toBe(3)
    })

    it('renew the assignments of their user when a grant begins or is revoked', async () => {
      const ids = ['d1', 'd2', 'd3', 'd4']
      await store().transaction(async (writer) => {
        await writer.devices.insert(device('d1', 'bob'))
        await writer.devices.insert(device('d2', 'bob'))
        await writer.devices.insert(device('d3', 'ann'))
        await writer.devices.insert(device('d4', 'bob', 'rival'))
        const versions = { d1: 7, d2: LATER_SECONDS + 50, d3: 7, d4: 7 }
        await writer.deviceAssignments.put(
          Object.entries(versions).map(([device_id, version]) => ({
            device_id,
            view_id: 'v',
            version,
          })),
        )
      })
      const versions = () =>
        store().read(async ({ deviceAssignments }) => {
          const found = await deviceAssignments.list(ids)
          return ids.map((id) => found.get(id)?.version)
        })
      await insert(one)

      await update(approved(one), 'pending')
      const seconds = Date.parse(NOW) / 1000
      expect(await versions()).toEqual([seconds, LATER_SECONDS + 51, 7, 7])

      await update(ended(approved(one), 'revoked'), 'approved')
      expect(await versions()).toEqual([LATER_SECONDS, LATER_SECONDS + 52, 7, 7])

      await insert(two)
      await update(ended(two, 'rejected'), 'pending')
      expect(await versions()).toEqual([LATER_SECONDS, LATER_SECONDS + 52, 7, 7])
    })

    it('change what is known of accounts only with a grant', async () => {
      await insert(one)
      const { generation } = store()
      const before = generation('accounts')

      await update(approved(one), 'pending')

      expect(generation('accounts')).not.toBe(before)
    })

    it('raise no revision', async () => {
      const revision = () => store().read(async (reader) => reader.organizations.find('acme'))
      const before = await revision()

      await insert(one)
      await update(approved(one), 'pending')
      await store().transaction(async (writer) => {
        await writer.accessRequests.addApprover('acme', TEAM, 'ann')
        const settings = { longest_seconds: 60, most_open: 1, answer_within_seconds: 60 }
        await writer.organizations.updateAccess('acme', settings)
      })

      expect(await revision()).toEqual(before)
    })

    it('have limits of each organization, by default eight hours and ten grants', async () => {
      const settings = { longest_seconds: 60, most_open: 1, answer_within_seconds: 90 }
      await store().transaction((writer) => writer.organizations.updateAccess('acme', settings))

      await store().read(async ({ organizations }) => {
        expect(await organizations.access('acme')).toEqual(settings)
        expect(await organizations.access('rival')).toEqual({
          longest_seconds: 28_800,
          most_open: 10,
          answer_within_seconds: 86_400,
        })
      })
    })

    it('have approvers by team, who end with their membership and with the team', async () => {
      const isApprover = () =>
        store().read(({ accessRequests }) => accessRequests.isApproverOf('acme', 'ann', 'bob'))
      const approvers = (team = TEAM) =>
        store().read((reader) =>
          reader.accessRequests.approvers('acme', team, { after: '', limit: 10 }),
        )
      const add = (team: string, username = 'ann') =>
        store().transaction((writer) => writer.accessRequests.addApprover('acme', team, username))
      await add(TEAM)
      await add(TEAM)
      expect(await approvers()).toEqual(['ann'])
      expect(await isApprover()).toBe(true)
      await expect(add(TEAM, 'cid')).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })

      const remove = () =>
        store().transaction((writer) => writer.accessRequests.removeApprover('acme', TEAM, 'ann'))
      expect(await remove()).toBe(true)
      expect(await remove()).toBe(false)
      expect(await isApprover()).toBe(false)

      await add(TEAM)
      await store().transaction((writer) => writer.memberships.delete('acme', 'ann'))
      expect(await approvers()).toEqual([])

      await add(OTHER_TEAM, 'bob')
      await store().transaction((writer) => writer.teams.delete('acme', OTHER_TEAM))
      expect(await approvers(OTHER_TEAM)).toEqual([])
    })
  })
}

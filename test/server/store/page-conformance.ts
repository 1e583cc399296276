import { describe, expect, it } from 'vitest'
import type { EnrolmentTokenRecord } from '../../../server/src/store/distribution-records.ts'
import type { AccessTokenRecord } from '../../../server/src/store/records.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'

/** Guarantees of every driver for pages of lists; `store` holds the seed of `describeStore`. */
export function describePages(store: () => Store): void {
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id)

  describe('a page of access tokens', () => {
    const token = (
      id: string,
      owner: { username: string } | { org: string },
    ): AccessTokenRecord => ({
      ...('org' in owner
        ? { kind: 'organization' as const, ...owner }
        : { kind: 'personal' as const, ...owner }),
      id,
      name: id,
      permissions: [],
      secret_hash: `hash of ${id}`,
      created_at: NOW,
      expires_at: LATER,
      revoked_at: null,
      parent_id: null,
      prefix: 'pal_0000',
      created_by: 'operator',
      last_used_at: null,
    })

    it('has tokens of one owner, by creation, after the given token', async () => {
      await store().transaction(async ({ accessTokens }) => {
        // Ids in another order than creation.
        for (const id of ['u3', 'u1', 'u2']) {
          await accessTokens.insert(token(id, { username: 'ann' }))
          await accessTokens.insert(token(`of acme ${id}`, { org: 'acme' }))
        }
        await accessTokens.insert(token('other', { username: 'bob' }))
        await accessTokens.insert(token('foreign', { org: 'rival' }))
      })
      const page = (after: string, limit: number) => ({ after, limit, expiresAfter: NOW })

      await store().read(async ({ accessTokens }) => {
        const own = async (after: string, limit: number) =>
          idsOf(await accessTokens.pageOfUser('ann', page(after, limit)))
        expect(await own('', 2)).toEqual(['u3', 'u1'])
        expect(await own('u1', 2)).toEqual(['u2'])
        expect(await own('u2', 2)).toEqual([])
        const ofAcme = async (after: string, limit: number) =>
          idsOf(await accessTokens.pageOfOrganization('acme', page(after, limit)))
        expect(await ofAcme('', 9)).toEqual(['of acme u3', 'of acme u1', 'of acme u2'])
        expect(await ofAcme('of acme u3', 1)).toEqual(['of acme u1'])
      })
    })

    it('can start after a revoked token, and contains none', async () => {
      await store().transaction(async ({ accessTokens }) => {
        for (const id of ['t1', 't2', 't3'])
          await accessTokens.insert(token(id, { username: 'ann' }))
        await accessTokens.revoke('t2', NOW)
      })
      const page = (after: string) => ({ after, limit: 9, expiresAfter: NOW })

      await store().read(async ({ accessTokens }) => {
        expect(idsOf(await accessTokens.pageOfUser('ann', page('')))).toEqual(['t1', 't3'])
        expect(idsOf(await accessTokens.pageOfUser('ann', page('t2')))).toEqual(['t3'])
      })
    })

    it('leaves out tokens that expired before the given time', async () => {
      await store().transaction(async ({ accessTokens }) => {
        await accessTokens.insert(token('own', { username: 'ann' }))
        await accessTokens.insert(token('of acme', { org: 'acme' }))
      })

      await store().read(async ({ accessTokens }) => {
        const after = async (expiresAfter: string) => [
          ...idsOf(await accessTokens.pageOfUser('ann', { after: '', limit: 9, expiresAfter })),
          ...idsOf(
            await accessTokens.pageOfOrganization('acme', { after: '', limit: 9, expiresAfter }),
          ),
        ]
        expect(await after(NOW)).toEqual(['own', 'of acme'])
        expect(await after(LATER)).toEqual([])
      })
    })
  })

  describe('a page of people', () => {
    it('contains members by name, and the organizations of a user', async () => {
      await store().transaction(async ({ memberships }) => {
        await memberships.insert({ org: 'acme', username: 'cid', role: 'editor' })
      })

      await store().read(async ({ memberships }) => {
        const members = async (after: string, limit: number) =>
          (await memberships.page('acme', { after, limit })).map(({ username }) => username)
        expect(await members('', 2)).toEqual(['ann', 'bob'])
        expect(await members('bob', 2)).toEqual(['cid'])
        expect(await members('ba', 1)).toEqual(['bob'])
        const organizations = async (after: string, limit: number) =>
          (await memberships.pageOfUser('cid', { after, limit })).map(({ org }) => org)
        expect(await organizations('', 1)).toEqual(['acme'])
        expect(await organizations('acme', 9)).toEqual(['rival'])
        expect(await organizations('rival', 9)).toEqual([])
      })
    })

    it('contains teams by name, in any script', async () => {
      await store().transaction(async ({ teams }) => {
        for (const name of ['Ärzte', 'Zoo', 'été'])
          await teams.insert({ id: `team ${name}`, org: 'acme', name })
        await teams.insert({ id: 'foreign', org: 'rival', name: 'Zoo' })
      })

      await store().read(async ({ teams }) => {
        const names = async (after: string, limit: number) =>
          (await teams.page('acme', { after, limit })).map(({ name }) => name)
        const all = await names('', 9)
        expect(all).toEqual((await teams.list('acme')).map(({ name }) => name))
        expect(all).toHaveLength(5)
        for (const [index, name] of all.entries())
          expect(await names(name, 2)).toEqual(all.slice(index + 1, index + 3))
      })
    })

    it('has invitations of an organization by user, and of a user by organization', async () => {
      const invitation = (org: string, username: string) => ({
        org,
        username,
        role: 'member' as const,
        invited_by: 'user:ann',
        created_at: NOW,
      })
      await store().transaction(async ({ invitations }) => {
        await invitations.insert(invitation('acme', 'cid'))
        for (const username of ['bob', 'ann'])
          await invitations.insert(invitation('rival', username))
        await invitations.insert(invitation('acme', 'ann'))
      })

      await store().read(async ({ invitations }) => {
        const ofAcme = await invitations.page('acme', { after: 'ann', limit: 9 })
        expect(ofAcme).toEqual([invitation('acme', 'cid')])
        const ofAnn = async (after: string, limit: number) =>
          (await invitations.pageOfUser('ann', { after, limit })).map(({ org }) => org)
        expect(await ofAnn('', 1)).toEqual(['acme'])
        expect(await ofAnn('acme', 9)).toEqual(['rival'])
      })
    })
  })

  describe('a page of enrolment tokens', () => {
    const token = (id: string, org: string): EnrolmentTokenRecord => ({
      id,
      org,
      name: id,
      labels: [],
      secret_hash: `hash of ${id}`,
      prefix: 'pal_enr_0000',
      root_version: 1,
      max_uses: 1,
      uses: 0,
      last_used_at: null,
      created_at: NOW,
      created_by: 'user:ann',
      parent_id: null,
      expires_at: LATER,
      revoked_at: null,
    })

    it('is sorted by creation, may follow a revoked token, and omits expired ones', async () => {
      await store().transaction(async ({ enrolmentTokens }) => {
        for (const id of ['e3', 'e1', 'e2']) await enrolmentTokens.insert(token(id, 'acme'))
        await enrolmentTokens.insert(token('foreign', 'rival'))
        await enrolmentTokens.revoke('acme', 'e1', NOW)
      })

      await store().read(async ({ enrolmentTokens }) => {
        const page = async (after: string, limit: number, expiresAfter = NOW) =>
          idsOf(await enrolmentTokens.page('acme', { after, limit, expiresAfter }))
        expect(await page('', 1)).toEqual(['e3'])
        expect(await page('e3', 9)).toEqual(['e2'])
        expect(await page('e1', 9)).toEqual(['e2'])
        expect(await page('', 9, LATER)).toEqual([])
        expect(await enrolmentTokens.find('acme', 'e3')).toEqual(token('e3', 'acme'))
        expect(await enrolmentTokens.find('acme', 'e1')).toBeNull()
        expect(await enrolmentTokens.find('acme', 'foreign')).toBeNull()
      })
    })
  })

  describe('a page of webhooks', () => {
    it('is sorted by creation, then by id', async () => {
      const webhook = (id: string, created_at: string, org = 'acme') => ({
        id,
        org,
        url: 'https://hooks.example.com/',
        enabled: true,
        secret: 'whsec_x',
        secret_created_at: NOW,
        created_at,
      })
      await store().transaction(async ({ webhooks }) => {
        for (const [id, at] of [
          ['w1', LATER],
          ['w3', NOW],
          ['w2', NOW],
        ] as const)
          await webhooks.insert(webhook(id, at), 0)
        await webhooks.insert(webhook('w4', NOW, 'rival'), 0)
      })

      await store().read(async ({ webhooks }) => {
        const page = async (created_at: string, id: string, limit: number) =>
          idsOf(await webhooks.page('acme', { after: { created_at, id }, limit }))
        expect(await page('', '', 2)).toEqual(['w2', 'w3'])
        expect(await page(NOW, 'w2', 9)).toEqual(['w3', 'w1'])
        // A deleted one.
        expect(await page(NOW, 'w9', 9)).toEqual(['w1'])
        expect(await page(LATER, 'w1', 9)).toEqual([])
      })
    })
  })
}

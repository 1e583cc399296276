import { describe, expect, it } from 'vitest'
import type { AccessTokenRecord } from '../../../server/src/store/records.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'

/** What every driver promises of pages of lists; `store` holds the seed of `describeStore`. */
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
      prefix: null,
      created_by: null,
      last_used_at: null,
    })

    it('is of one owner, by creation, after the token that it is told', async () => {
      await store().transaction(async ({ accessTokens }) => {
        // Ids that are not in the order of creation.
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

    it('goes on after a token that was revoked, and holds none', async () => {
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

    it('leaves out those that expired by then', async () => {
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
}

import { describe, expect, it } from 'vitest'
import type { Store, StoreWriter } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const TEAM = '11111111-1111-4111-8111-111111111111'

/** Guarantees of every driver for members and teams; `store` holds the seed of `describeStore`. */
export function describePeople(store: () => Store): void {
  describe('people', () => {
    it('leave their teams when they leave the organization', async () => {
      await store().transaction((writer) => writer.memberships.delete('acme', 'bob'))

      const teams = await store().read((reader) => reader.teams.listOfUser('acme', 'bob'))
      expect(teams).toEqual([])
    })

    it('cannot join a team of an organization without being its members', async () => {
      const attempt = store().transaction((writer) => writer.teams.addMember('acme', TEAM, 'cid'))

      await expect(attempt).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })
    })

    it('have unique names, like organizations and teams', async () => {
      const conflicts: [string, (writer: StoreWriter) => Promise<unknown>][] = [
        [
          'username',
          (writer) =>
            writer.users.insert({ username: 'ann', password_hash: null, created_at: NOW }),
        ],
        [
          'member',
          (writer) => writer.memberships.insert({ org: 'acme', username: 'ann', role: 'owner' }),
        ],
        ['team_name', (writer) => writer.teams.insert({ id: 'y', org: 'acme', name: 'one' })],
        [
          'organization',
          (writer) =>
            writer.organizations.insert({
              name: 'acme',
              entitled: true,
              resolve_unlisted_names: false,
              created_at: NOW,
            }),
        ],
      ]
      for (const [subject, work] of conflicts)
        await expect(store().transaction(work)).rejects.toMatchObject({
          code: 'ERR_STORE_CONFLICT',
          subject,
        })
    })

    it('are shown with their teams', async () => {
      const teams = await store().read((reader) => reader.teams.listOfUsers('acme'))

      expect(teams).toEqual(new Map([['bob', [TEAM]]]))
    })

    it('of one team are listed by name', async () => {
      await store().transaction(async ({ teams }) => {
        await teams.insert({ id: 'other', org: 'acme', name: 'other' })
        await teams.addMember('acme', 'other', 'ann')
        await teams.addMember('acme', TEAM, 'ann')
      })

      const members = (id: string) => store().read(({ teams }) => teams.listMembers('acme', id))
      expect(await members(TEAM)).toEqual(['ann', 'bob'])
      expect(await members('other')).toEqual(['ann'])
      expect(await members('none')).toEqual([])
    })

    it('may have another owner or none', async () => {
      const hasOther = (username: string) =>
        store().read(({ memberships }) => memberships.hasOtherOwner('acme', username))
      await store().transaction(async ({ memberships }) => {
        await memberships.updateRole('acme', 'ann', 'owner')
        await memberships.updateRole('acme', 'bob', 'editor')
      })
      expect([await hasOther('ann'), await hasOther('bob')]).toEqual([false, true])

      await store().transaction(({ memberships }) => memberships.updateRole('acme', 'bob', 'owner'))
      expect([await hasOther('ann'), await hasOther('bob')]).toEqual([true, true])
    })
  })
}

import { describe, expect, it } from 'vitest'
import type { EnrolmentTokenRecord } from '../../../server/src/store/distribution-records.ts'
import type { AccessTokenRecord } from '../../../server/src/store/records.ts'
import type { Store, StoreReader, StoreWriter } from '../../../server/src/store/store.ts'
import { personalToken } from './credential-records.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'
const MANY = 230

type Origin = Parameters<typeof personalToken>[1]

function ofOrganization(org: string, id: string, origin: Origin = {}): AccessTokenRecord {
  const { username: _username, ...token } = personalToken(id, origin)
  return { ...token, kind: 'organization', org }
}

function enrolment(id: string, created_by: string, parent_id: string | null): EnrolmentTokenRecord {
  return {
    id,
    org: 'acme',
    name: id,
    labels: [],
    secret_hash: `enrolment ${id}`,
    prefix: 'pal_enr_1234',
    root_version: 1,
    max_uses: 9,
    uses: 0,
    last_used_at: null,
    created_at: NOW,
    created_by,
    parent_id,
    expires_at: LATER,
    revoked_at: null,
  }
}

const numbered = (name: string) => Array.from({ length: MANY }, (_, index) => `${name} ${index}`)

/**
 * Guarantees of every driver for revocations of many tokens; `store` holds the seed of
 * `describeStore`.
 */
export function describeRevocations(store: () => Store): void {
  const write = <T>(work: (writer: StoreWriter) => Promise<T>) => store().transaction(work)
  const endOf = (...ids: string[]) =>
    store().read(async ({ accessTokens }) => {
      const ends = new Set<string | null | undefined>()
      for (const id of ids) {
        const found = await accessTokens.find(id)
        expect(await accessTokens.findBySecretHash(`hash of ${id}`)).toEqual(found)
        ends.add(found?.revoked_at)
      }
      return [...ends]
    })
  /** The number noted in each transaction; checks that each was noted once. */
  async function finish(noted: readonly { readonly id: string }[]): Promise<number[]> {
    const ids = noted.map(({ id }) => id)
    const counts: number[] = []
    for (;;) {
      const more = await write(
        async (writer) =>
          (await writer.accessTokens.revokePending()) ??
          (await writer.enrolmentTokens.revokePending()),
      )
      if (more === null) break
      ids.push(...more.map(({ id }) => id))
      counts.push(more.length)
    }
    expect(new Set(ids).size).toBe(ids.length)
    expect(await store().read(({ accessTokens }) => accessTokens.hasPending())).toBe(false)
    return counts
  }

  describe('a revocation of many tokens', () => {
    it('applies to all at once, and is noted for a hundred tokens a transaction', async () => {
      const children = numbered('child')
      await write(async ({ accessTokens }) => {
        await accessTokens.insert(personalToken('root'))
        await accessTokens.insert(personalToken('stranger'))
        for (const id of children)
          await accessTokens.insert(personalToken(id, { parent_id: 'root' }))
        const deep = { parent_id: children.at(-1) ?? '' }
        await accessTokens.insert(ofOrganization('acme', 'deep', deep))
        await accessTokens.insert(ofOrganization('rival', 'deepest', { parent_id: 'deep' }))
      })

      const noted = await write((writer) => writer.accessTokens.revoke('root', LATER))

      expect(noted).toHaveLength(101)
      expect(noted[0]).toMatchObject({ id: 'root', revoked_at: LATER })
      expect(await endOf('root', ...children, 'deep', 'deepest')).toEqual([LATER])
      expect(await endOf('stranger')).toEqual([null])
      const counts = await finish(noted)
      expect(Math.max(...counts)).toBe(100)
      expect(counts.reduce((sum, count) => sum + count, 101)).toBe(MANY + 3)
      expect(await endOf('root', ...children, 'deep', 'deepest')).toEqual([LATER])
      expect(await endOf('stranger')).toEqual([null])
      const left = await store().read(({ accessTokens }) => accessTokens.listOfUser('ann'))
      expect(left.map(({ id }) => id)).toEqual(['stranger'])
    })

    it('stops enrolment by descendants', async () => {
      const children = numbered('child')
      const last = children.at(-1) ?? ''
      await write(async ({ accessTokens, enrolmentTokens }) => {
        await accessTokens.insert(personalToken('root'))
        for (const id of children)
          await accessTokens.insert(personalToken(id, { parent_id: 'root' }))
        await enrolmentTokens.insert(enrolment('e', 'user:ann', last))
        await enrolmentTokens.insert(enrolment('free', 'user:ann', null))
        await accessTokens.revoke('root', LATER)
      })

      for (const id of ['e', 'free']) {
        const isFree = id === 'free'
        const { found, bySecret } = await store().read(async ({ enrolmentTokens }) => ({
          found: await enrolmentTokens.find('acme', id),
          bySecret: await enrolmentTokens.findBySecretHash(`enrolment ${id}`),
        }))
        const used = await write(({ enrolmentTokens }) => enrolmentTokens.use(id, NOW))
        for (const each of [found, bySecret, used]) expect(each !== null, id).toBe(isFree)
      }
    })

    it('covers only tokens that the actor had created for the organization by then', async () => {
      const made = numbered('made')
      const origin = { created_by: 'user:bob' }
      await write(async ({ accessTokens }) => {
        for (const id of made) await accessTokens.insert(ofOrganization('acme', id, origin))
        await accessTokens.insert(ofOrganization('rival', 'elsewhere', origin))
        await accessTokens.insert(ofOrganization('acme', 'of ann', { created_by: 'user:ann' }))
        await accessTokens.insert(ofOrganization('acme', 'below', { parent_id: made.at(-1) ?? '' }))
        await accessTokens.insert(personalToken('own', origin))
      })

      const noted = await write(({ accessTokens }) =>
        accessTokens.revokeMadeBy('acme', 'user:bob', NOW),
      )
      await write(({ accessTokens }) =>
        accessTokens.insert(ofOrganization('acme', 'afterwards', origin)),
      )

      expect(noted).toHaveLength(100)
      expect(await endOf(...made, 'below')).toEqual([NOW])
      expect(await endOf('elsewhere', 'of ann', 'own', 'afterwards')).toEqual([null])
      expect(await finish(noted)).toEqual([100, 31])
      expect(await endOf(...made, 'below')).toEqual([NOW])
      expect(await endOf('elsewhere', 'of ann', 'own', 'afterwards')).toEqual([null])
    })

    it('covers all personal tokens that the user had by then', async () => {
      const own = numbered('own')
      await write(async ({ accessTokens }) => {
        for (const id of own) await accessTokens.insert(personalToken(id))
        await accessTokens.insert({ ...personalToken('of bob'), kind: 'personal', username: 'bob' })
        await accessTokens.insert(ofOrganization('acme', 'below', { parent_id: own.at(-1) ?? '' }))
      })

      const noted = await write(({ accessTokens }) => accessTokens.revokeOfUser('ann', NOW))
      await write(({ accessTokens }) => accessTokens.insert(personalToken('afterwards')))

      expect(noted).toHaveLength(100)
      expect(await endOf(...own, 'below')).toEqual([NOW])
      expect(await endOf('of bob', 'afterwards')).toEqual([null])
      await finish(noted)
      expect(await endOf(...own, 'below')).toEqual([NOW])
      expect(await endOf('of bob', 'afterwards')).toEqual([null])
    })

    it('covers the enrolment tokens that the actor had created by then', async () => {
      const made = numbered('made')
      await write(async ({ enrolmentTokens }) => {
        for (const id of made) await enrolmentTokens.insert(enrolment(id, 'user:bob', null))
        await enrolmentTokens.insert(enrolment('of ann', 'user:ann', null))
      })
      const isFound = async (id: string) => {
        const read = async ({ enrolmentTokens }: StoreReader) => [
          await enrolmentTokens.find('acme', id),
          await enrolmentTokens.findBySecretHash(`enrolment ${id}`),
        ]
        const [one, other] = await store().read(read)
        const used = await write(({ enrolmentTokens }) => enrolmentTokens.use(id, NOW))
        expect([other === null, used === null]).toEqual([one === null, one === null])
        return one !== null
      }
      const last = made.at(-1) ?? ''

      const noted = await write(({ enrolmentTokens }) =>
        enrolmentTokens.revokeMadeBy('acme', 'user:bob', NOW),
      )
      await write(({ enrolmentTokens }) =>
        enrolmentTokens.insert(enrolment('afterwards', 'user:bob', null)),
      )

      expect(noted).toHaveLength(100)
      expect([await isFound(last), await isFound('afterwards')]).toEqual([false, true])
      expect(await isFound('of ann')).toBe(true)
      expect(await finish(noted)).toEqual([100, 30])
      expect([await isFound(last), await isFound('afterwards')]).toEqual([false, true])
      const listed = await store().read(({ enrolmentTokens }) => enrolmentTokens.list('acme'))
      expect(listed.map(({ id }) => id)).toEqual(['of ann', 'afterwards'])
    })
  })
}

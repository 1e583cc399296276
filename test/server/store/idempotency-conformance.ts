import { describe, expect, it } from 'vitest'
import type { IdempotencyRecord } from '../../../server/src/store/records.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'
const ALL = { answers: 100, bytes: 1_000_000 }

const record: IdempotencyRecord = {
  scope: 'ann acme POST /x k',
  caller: 'user:ann',
  body_hash: 'h',
  status: 201,
  headers: { etag: '"1"' },
  body: '{}',
  expires_at: NOW,
}

/** Guarantees of every driver for kept answers. */
export function describeIdempotency(store: () => Store): void {
  const put = (...records: Partial<IdempotencyRecord>[]) =>
    store().transaction(async (writer) => {
      for (const each of records) await writer.idempotency.put({ ...record, ...each })
    })
  const find = (scope: string) => store().read((reader) => reader.idempotency.find(scope))
  const keptFor = (caller: string) => store().read((reader) => reader.idempotency.keptFor(caller))
  const deleteExpired = (most = ALL) =>
    store().transaction((writer) => writer.idempotency.deleteExpired(NOW, most))

  describe('kept answers', () => {
    it('are found by idempotency key, the last of each, until they expire', async () => {
      await put({ status: 200 }, {}, { scope: 'later', expires_at: LATER })

      expect(await find(record.scope)).toEqual(record)
      expect(await deleteExpired()).toBe(1)
      expect(await find(record.scope)).toBeNull()
      expect(await find('later')).not.toBeNull()
    })

    it('are counted for their caller, with the bytes of their bodies, until deletion', async () => {
      await put({ scope: 'a', body: '' }, { scope: 'b', body: '"ü"', expires_at: LATER })
      await put({ scope: 'c', caller: 'user:bob', body: '{"x":1}' })
      await put({ scope: 'a', body: '{}' })

      expect(await keptFor('user:ann')).toEqual({ answers: 2, bytes: 6 })
      expect(await keptFor('user:bob')).toEqual({ answers: 1, bytes: 7 })
      expect(await keptFor('user:carl')).toEqual({ answers: 0, bytes: 0 })
      expect(await deleteExpired()).toBe(2)
      expect(await keptFor('user:ann')).toEqual({ answers: 1, bytes: 4 })
      expect(await keptFor('user:bob')).toEqual({ answers: 0, bytes: 0 })
    })

    it('count for the caller of the last one', async () => {
      await put({}, { caller: 'user:bob' })

      expect(await keptFor('user:ann')).toEqual({ answers: 0, bytes: 0 })
      expect(await keptFor('user:bob')).toEqual({ answers: 1, bytes: 2 })
    })

    it('are deleted a few at a time, in order of expiry', async () => {
      const at = (minute: number) => `2026-11-21T07:0${minute}:00.000Z`
      const body = 'x'.repeat(10)
      await put(...[4, 2, 3, 1].map((n) => ({ scope: `s${n}`, body, expires_at: at(n) })))

      expect(await deleteExpired({ answers: 1, bytes: 100 })).toBe(1)
      expect(await find('s1')).toBeNull()
      expect(await deleteExpired({ answers: 100, bytes: 25 })).toBe(2)
      expect(await find('s3')).toBeNull()
      expect(await find('s4')).not.toBeNull()
      // A larger one is deleted by itself.
      expect(await deleteExpired({ answers: 100, bytes: 5 })).toBe(1)
      expect(await deleteExpired()).toBe(0)
      expect(await keptFor('user:ann')).toEqual({ answers: 0, bytes: 0 })
    })
  })
}

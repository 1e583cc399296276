import { describe, expect, it } from 'vitest'
import type { DocumentRecord, ViewRecord } from '../../../server/src/store/distribution-records.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const VERSION = 1_795_248_000
const VIEW_ID = '0'.repeat(32)

const VIEW: ViewRecord = {
  org: 'acme',
  id: VIEW_ID,
  revision: 1,
  content_hash: 'c',
  root_version: 1,
  targets_version: VERSION,
  targets_signed_at: NOW,
  snapshot_version: VERSION,
  snapshot_signed_at: NOW,
  timestamp_version: VERSION,
  timestamp_signed_at: NOW,
  timestamp_body: Buffer.from('{}'),
}

function document(id: string): DocumentRecord {
  const sha256 = id.repeat(64)
  const entry = `"policies/pol_${id}.json":{}`
  return { path: `policies/${sha256}.pol_${id}.json`, sha256, body: Buffer.from(id), entry }
}

const [A, B, C] = [document('a'), document('b'), document('c')]

/**
 * Guarantees of every driver for documents placed ahead; `store` holds the seed of `describeStore`.
 */
export function describeDocuments(store: () => Store): void {
  const insert = (...documents: DocumentRecord[]) =>
    store().transaction(({ views }) => views.insertAhead('acme', documents, VERSION))
  const publish = (...documents: DocumentRecord[]) =>
    store().transaction(({ views }) =>
      views.publish('acme', [
        { view: VIEW, files: { snapshot: '{}', targets: { head: '{', documents, tail: '}' } } },
      ]),
    )
  const missing = (...documents: DocumentRecord[]) =>
    store().read(({ views }) => views.missing('acme', documents))
  const served = async ({ path }: DocumentRecord) => {
    const body = await store().read(({ views }) => views.document('acme', VIEW_ID, path, VERSION))
    return body && Buffer.from(body).toString()
  }

  describe('documents placed ahead', () => {
    it('are served once a view lists them, beside those that publishing inserts', async () => {
      await insert(A)
      expect(await served(A)).toBeNull()

      await publish(A, B)
      expect([await served(A), await served(B)]).toEqual(['a', 'b'])
    })

    it('need not be inserted again by a publication', async () => {
      await insert(A)
      expect(await missing(A, B)).toEqual([B])
      expect(await missing({ ...A, entry: `${A.entry} ` })).toHaveLength(1)

      await insert(A, B)
      expect(await missing(A, B)).toEqual([])
    })

    it('are kept as long as documents dropped by views at that time', async () => {
      // The last row always stays.
      await insert(A, B, C)
      await publish(B)
      const deleteUnlisted = (since: number) =>
        store().transaction(({ views }) => views.deleteUnlisted('acme', since))

      await deleteUnlisted(VERSION)
      expect(await missing(A, B)).toEqual([])
      await deleteUnlisted(VERSION + 1)
      expect(await missing(A, B)).toEqual([A])
      expect(await served(B)).toBe('b')
    })

    it('do not invalidate the caches of readers', async () => {
      const before = store().generation()
      await insert(A)
      expect(store().generation()).toBe(before)
      await publish(A)
      expect(store().generation()).not.toBe(before)
    })
  })
}

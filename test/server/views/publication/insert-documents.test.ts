import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { insertDocuments } from '../../../../server/src/views/publication/insert-documents.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const NOW = new Date('2026-11-21T08:00:00Z')
const KIB = 1024

let store: Store

beforeEach(async () => {
  store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
  onTestFinished(() => store.close())
  await store.transaction(({ organizations }) =>
    organizations.insert({
      name: 'acme',
      entitled: true,
      resolve_unlisted_names: false,
      created_at: NOW.toISOString(),
    }),
  )
})

function documents(count: number, bytes: number) {
  return Array.from({ length: count }, (_, index) => {
    const body = Buffer.alloc(bytes, `${index};`)
    const sha256 = createHash('sha256').update(body).digest('hex')
    return { path: `policies/${sha256}.pol.json`, sha256, body, entry: `"${sha256}":{}` }
  })
}

/** Bytes of documents inserted by each transaction. */
async function viewRef(listed: ReturnType<typeof documents>): Promise<number[]> {
  const transactions: number[] = []
  const observed: Pick<Store, 'read' | 'transaction'> = {
    read: (work) => store.read(work),
    transaction: (work) =>
      store.transaction((writer) =>
        work({
          ...writer,
          views: {
            ...writer.views,
            async insertAhead(org, part, version) {
              transactions.push(part.reduce((sum, { body }) => sum + body.byteLength, 0))
              await writer.views.insertAhead(org, part, version)
            },
          },
        }),
      ),
  }
  await insertDocuments(observed, 'acme', listed, () => NOW)
  return transactions
}

describe('documents of a view', () => {
  it('are inserted ahead in transactions of at most a mebibyte or one document', async () => {
    const listed = [...documents(7, 400 * KIB), ...documents(1, 1500 * KIB)]

    expect(await viewRef(listed)).toEqual([800, 800, 800, 400, 1500].map((kib) => kib * KIB))
    expect(await store.read(({ views }) => views.missing('acme', listed))).toEqual([])
  })

  it('are left to the publication if they are small or few', async () => {
    expect(await viewRef(documents(100, 10 * KIB))).toEqual([])

    const listed = documents(7, 400 * KIB)
    await viewRef(listed.slice(0, 5))
    expect(await viewRef(listed)).toEqual([])
  })
})

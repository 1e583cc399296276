import { expect, it } from 'vitest'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'

/** What every driver promises of kept answers. */
export function describeIdempotency(store: () => Store): void {
  it('keeps the last answer for an idempotency key until it expires', async () => {
    const record = {
      scope: 'ann acme POST /x k',
      body_hash: 'h',
      status: 201,
      headers: { etag: '"1"' },
      body: '{}',
      expires_at: NOW,
    }
    await store().transaction(async (writer) => {
      await writer.idempotency.put({ ...record, status: 200 })
      await writer.idempotency.put(record)
      await writer.idempotency.put({ ...record, scope: 'later', expires_at: LATER })
    })

    const find = (scope: string) => store().read((reader) => reader.idempotency.find(scope))
    expect(await find(record.scope)).toEqual(record)
    await store().transaction((writer) => writer.idempotency.deleteExpired(NOW))
    expect(await find(record.scope)).toBeNull()
    expect(await find('later')).not.toBeNull()
  })
}

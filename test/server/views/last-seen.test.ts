import { join } from 'node:path'
import { openSqliteStore } from '@palisade/server'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createLastSeen, type LastSeen } from '../../../server/src/views/last-seen.ts'
import { StoreError } from '../../../server/src/store/store-error.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const NOW_MS = Date.parse(NOW)
/** Longer than the default, for a busy machine. */
const PATIENCE = { timeout: 300_000 }

describe('last seen', () => {
  let store: Store
  let failures: unknown[]
  let rows: number[]

  beforeEach(async () => {
    failures = []
    rows = []
    store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => store.close())
    await store.transaction(async (writer) => {
      await writer.organizations.insert({
        name: 'acme',
        entitled: true,
        resolve_unlisted_names: false,
        created_at: NOW,
      })
      for (let n = 0; n < 600; n += 1)
        await writer.devices.insert({
          id: `d${n}`,
          org: 'acme',
          username: null,
          thumbprint: `h${n}`,
          name: null,
          labels: [],
          enrolment_token_id: null,
          created_at: NOW,
          revoked_at: null,
        })
    })
  })

  const open = (intervalMs: number, refusal: () => Error | null = () => null): LastSeen =>
    createLastSeen({
      store: {
        transaction(work) {
          const error = refusal()
          if (error !== null) return Promise.reject(error)
          rows.push(0)
          return store.transaction(work)
        },
      },
      intervalMs,
      onFailure: (error) => failures.push(error),
    })
  const listed = () =>
    store.read((reader) => reader.devicePolls.list(Array.from({ length: 600 }, (_, n) => `d${n}`)))

  it('is written after an interval, with only the last poll of a device', async () => {
    const lastSeen = open(5)
    lastSeen.record('d1', NOW_MS - 1000)
    lastSeen.record('d1', NOW_MS)

    await expect.poll(listed, PATIENCE).toEqual(new Map([['d1', NOW]]))
    expect(rows).toHaveLength(1)
    await lastSeen.close()
  })

  it('is written again for devices seen later', async () => {
    const lastSeen = open(5)
    lastSeen.record('d1', NOW_MS - 1000)
    await expect.poll(async () => (await listed()).size, PATIENCE).toBe(1)

    lastSeen.record('d1', NOW_MS)

    await expect.poll(listed, PATIENCE).toEqual(new Map([['d1', NOW]]))
    await lastSeen.close()
  })

  it('is written in slices when it is closed', async () => {
    const lastSeen = open(3_600_000)
    for (let n = 0; n < 600; n += 1) lastSeen.record(`d${n}`, NOW_MS)
    expect((await listed()).size).toBe(0)

    await lastSeen.close()

    expect((await listed()).size).toBe(600)
    expect(rows).toHaveLength(3)
  })

  it('logs and retries a failed write', async () => {
    let refusal: Error | null = new StoreError('ERR_STORE_UNAVAILABLE', 'full')
    const lastSeen = open(5, () => refusal)
    lastSeen.record('d1', NOW_MS)
    await expect.poll(() => failures.length, PATIENCE).toBeGreaterThan(0)
    expect((await listed()).size).toBe(0)

    refusal = null

    await expect.poll(listed, PATIENCE).toEqual(new Map([['d1', NOW]]))
    await lastSeen.close()
  })

  it('can be closed while the store fails', async () => {
    const lastSeen = open(3_600_000, () => new Error('gone'))
    lastSeen.record('d1', NOW_MS)

    await lastSeen.close()

    expect(failures).toHaveLength(1)
  })
})

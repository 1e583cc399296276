import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAnswerExpiry } from '../../../../server/src/identity/idempotency/forget-answers.ts'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'

/** Stores `count` expired answers with bodies of `bytes`, and one that has not expired. */
async function open(answers: number, bytes: number) {
  const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
  onTestFinished(() => store.close())
  const record = { body_hash: '', status: 201, headers: {}, body: 'x'.repeat(bytes) }
  await store.transaction(async (writer) => {
    for (let index = 0; index < answers; index += 1) {
      const caller = `user:${index % 7}`
      await writer.idempotency.put({ ...record, scope: `${index}`, caller, expires_at: NOW })
    }
    await writer.idempotency.put({ ...record, scope: 'k', caller: 'user:0', expires_at: LATER })
  })
  const slices: number[] = []
  const counted: Store = {
    ...store,
    transaction: (work) =>
      store.transaction((writer) =>
        work({
          ...writer,
          idempotency: {
            ...writer.idempotency,
            async deleteExpired(now, most) {
              const gone = await writer.idempotency.deleteExpired(now, most)
              slices.push(gone)
              return gone
            },
          },
        }),
      ),
  }
  const log = createLog(false)
  const expiry = createAnswerExpiry({ store: counted, now: () => new Date(NOW), log })
  const kept = (caller: string) => store.read((reader) => reader.idempotency.keptFor(caller))
  return { store, expiry, slices, kept }
}

describe('expired answers', () => {
  it('are all deleted, in slices, and no others', async () => {
    const { store, expiry, slices, kept } = await open(250, 10)

    await expiry.forgetDue()

    expect(slices).toEqual([100, 100, 50, 0])
    expect(await kept('user:0')).toEqual({ answers: 1, bytes: 10 })
    expect(await kept('user:1')).toEqual({ answers: 0, bytes: 0 })
    expect(await store.read((reader) => reader.idempotency.find('k'))).not.toBeNull()
  })

  it('are deleted in smaller slices if they are large', async () => {
    const { expiry, slices } = await open(6, 2 ** 20)

    await expiry.forgetDue()

    expect(slices).toEqual([4, 2, 0])
  })

  it('are deleted every minute until the task is closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { expiry, kept } = await open(1, 10)
    expiry.start()

    vi.advanceTimersByTime(59_999)
    expect(await kept('user:0')).toMatchObject({ answers: 2 })
    vi.advanceTimersByTime(1)
    await expiry.stop()

    expect(await kept('user:0')).toMatchObject({ answers: 1 })
    expect(vi.getTimerCount()).toBe(0)
  })
})

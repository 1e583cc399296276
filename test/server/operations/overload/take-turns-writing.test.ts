import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  createAuditedStore,
  type AuditedStore,
} from '../../../../server/src/history/audit/audited-store.ts'
import { nextTurn } from '../../../../server/src/platform/next-turn.ts'
import { takeTurnsWriting } from '../../../../server/src/operations/overload/take-turns-writing.ts'
import { StoreError } from '../../../../server/src/store/store-error.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import { openTestStore } from '../../store/test-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

describe('transactions that take turns', () => {
  let store: Store
  let audited: AuditedStore
  let order: string[]

  beforeEach(async () => {
    const opened = await openTestStore(temporaryDirectory())
    onTestFinished(opened.discard)
    store = takeTurnsWriting(opened.store)
    audited = createAuditedStore({ store, now: () => new Date() })
    order = []
  })

  const write = (actor: string, mark = actor): Promise<void> =>
    audited.write({ actor, address: null, request_id: null }, async () => void order.push(mark))

  it('run a new caller before a hundred of another caller', async () => {
    const crowd = Array.from({ length: 100 }, () => write('user:mallory'))
    const alice = write('user:alice')

    await Promise.all([...crowd, alice])

    expect(order).toHaveLength(101)
    expect(order.indexOf('user:alice')).toBeLessThan(3)
  })

  it('count all tokens of an organization as one', async () => {
    const crowd = Array.from({ length: 100 }, (_, token) => write(`organization:acme:${token}`))
    const other = write('organization:other:1')

    await Promise.all([...crowd, other])

    expect(order.indexOf('organization:other:1')).toBeLessThan(3)
  })

  it('give the server every second turn among many callers', async () => {
    const crowd = Array.from({ length: 100 }, (_, caller) => write(`user:${caller}`))
    const own = Array.from({ length: 10 }, () =>
      store.transaction(async () => void order.push('own')),
    )

    await Promise.all([...crowd, ...own])

    expect(order.lastIndexOf('own')).toBeLessThan(22)
  })

  it('keep the order of one caller', async () => {
    await Promise.all(['1', '2', '3', '4'].map((mark) => write('user:alice', mark)))

    expect(order).toEqual(['1', '2', '3', '4'])
  })

  it('roll back only those that throw', async () => {
    const secret = (name: string, fails: boolean) =>
      store.transaction(
        async (writer) => {
          await writer.secrets.insert(name, new Uint8Array(1))
          if (fails) throw new Error(name)
          return name
        },
        [`user:${name}`],
      )

    const outcomes = await Promise.allSettled([secret('a', false), secret('b', true)])

    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: 'a' },
      { status: 'rejected', reason: { message: 'b' } },
    ])
    const isKept = async (name: string) =>
      (await store.read((reader) => reader.secrets.find(name))) !== null
    expect([await isKept('a'), await isKept('b')]).toEqual([true, false])
  })

  describe('where the database refuses some', () => {
    const refusal = new StoreError('ERR_STORE_UNAVAILABLE', 'busy')

    /** Transactions of two callers; `begins` says which ones the driver starts. */
    async function outcomesOf(begins: readonly boolean[]): Promise<unknown[]> {
      const opened = await openTestStore(temporaryDirectory())
      onTestFinished(opened.discard)
      const answers = begins.values()
      const earlier: Promise<unknown>[] = []
      const busy = takeTurnsWriting({
        ...opened.store,
        async transaction(work) {
          if (answers.next().value === true) {
            const begun = opened.store.transaction(work)
            earlier.push(begun)
            return begun
          }
          await Promise.allSettled(earlier)
          throw refusal
        },
      })
      const attempt = (lane: string): Promise<unknown> =>
        busy.transaction(async () => lane, [lane]).catch((error: unknown) => error)
      return Promise.all(['crowd', 'crowd', 'alice'].map(attempt))
    }

    it('fail the work of a transaction that cannot begin', async () => {
      expect(await outcomesOf([true, false, true])).toEqual(['crowd', refusal, 'alice'])
      expect(await outcomesOf([false, false, false])).toEqual([refusal, refusal, refusal])
    })

    it('keep a bounded number of failed items', async () => {
      const gone = new FinalizationRegistry<null>(() => (collected += 1))
      let collected = 0
      const away = takeTurnsWriting({
        ...store,
        async transaction() {
          await Promise.resolve()
          throw refusal
        },
      })
      async function fail(): Promise<void> {
        const request = { order }
        gone.register(request, null)
        await away
          .transaction(async () => void request.order.push('x'), ['user:alice'])
          .catch(() => undefined)
      }

      for (let count = 0; count < 1000; count += 1) await fail()
      setFlagsFromString('--expose-gc')
      const collect = runInNewContext('gc') as () => void
      for (let round = 0; round < 5; round += 1) {
        collect()
        await nextTurn()
      }

      expect(collected).toBeGreaterThan(800)
      expect(order).toEqual([])
    })

    it('request another transaction for an item that was passed over', async () => {
      expect(await outcomesOf([true, true, false, true])).toEqual(['crowd', 'crowd', 'alice'])
      expect(await outcomesOf([true, true, false, false])).toEqual(['crowd', refusal, 'alice'])
    })
  })
})

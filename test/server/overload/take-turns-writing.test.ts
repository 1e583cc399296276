import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createAuditedStore, type AuditedStore } from '../../../server/src/history/audited-store.ts'
import { takeTurnsWriting } from '../../../server/src/overload/take-turns-writing.ts'
import { StoreError } from '../../../server/src/store/store-error.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { openTestStore } from '../store/test-store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

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

  it('let a caller pass who comes after a hundred of another caller', async () => {
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

  it('keep the order of one caller', async () => {
    await Promise.all(['1', '2', '3', '4'].map((mark) => write('user:alice', mark)))

    expect(order).toEqual(['1', '2', '3', '4'])
  })

  it('undo each that throws, and none of the others', async () => {
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

  it('fail those of the longest lane where the database lets none begin', async () => {
    let passing = 1
    const refusal = new StoreError('ERR_STORE_UNAVAILABLE', 'busy')
    const busy = takeTurnsWriting({
      ...store,
      async transaction(work) {
        await Promise.resolve()
        passing -= 1
        if (passing < 0) throw refusal
        return store.transaction(work)
      },
    })
    const attempt = (lane: string) =>
      busy
        .transaction(async () => void order.push(lane), [lane])
        .then(
          () => 'done',
          (error: unknown) => error,
        )

    const outcomes = await Promise.all(['crowd', 'crowd', 'alice'].map(attempt))

    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === refusal)).toHaveLength(2)
    expect(outcomes[1]).toBe(refusal)
  })
})

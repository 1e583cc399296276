import { expect, it, onTestFinished } from 'vitest'
import { withHooks, type StoreHook } from '../../../server/src/store/store-hooks.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { openTestStore } from './test-store.ts'

it('tells each hook when an operation is asked for, begins and ends', async () => {
  const seen: string[] = []
  const store = await openHooked([
    (operation) => ({
      onBegin: () => seen.push(`${operation} begins`),
      onEnd: (error) => seen.push(`${operation} ends: ${String(error)}`),
    }),
    (operation) => {
      seen.push(`${operation} is asked for`)
      return null
    },
  ])

  await store.read(async () => seen.push('reading'))
  await store.transaction(async () => seen.push('writing'))
  await store.ping()

  expect(seen).toEqual([
    'read is asked for',
    'read begins',
    'reading',
    'read ends: undefined',
    'transaction is asked for',
    'transaction begins',
    'writing',
    'transaction ends: undefined',
    'ping is asked for',
    'ping ends: undefined',
  ])
})

it('passes results on, and tells of an error before it throws it', async () => {
  const ends: unknown[] = []
  const store = await openHooked([() => ({ onEnd: (error) => ends.push(error) })])
  const refusal = new TypeError('not this one')

  await expect(store.transaction(() => Promise.reject(refusal))).rejects.toBe(refusal)
  expect(await store.read((reader) => reader.organizations.count())).toBe(0)
  expect(ends).toEqual([refusal, undefined])
})

async function openHooked(hooks: readonly StoreHook[]) {
  const { store, discard } = await openTestStore(temporaryDirectory())
  onTestFinished(discard)
  return withHooks(store, hooks)
}

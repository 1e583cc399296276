import { expect, it } from 'vitest'
import { createRowCache } from '../../../../server/src/store/sql/row-cache.ts'

const load = async () => null

it('drops values above the maximum weight, even if a kept value has grown', async () => {
  const texts = createRowCache<string>(10, ({ length }) => length)
  await texts.read('a', async () => 'aaaa')
  await texts.read('b', async () => 'bbbb')
  const grow = (by: string) =>
    texts.write(
      'b',
      async () => by,
      (old, result) => old + result,
    )

  expect(await grow('bb')).toEqual({ result: 'bb', value: 'bbbbbb' })
  expect(await texts.read('a', load)).toBe('aaaa')

  expect(await grow('b')).toEqual({ result: 'b', value: 'bbbbbbb' })
  expect(await texts.read('a', load)).toBeNull()
  expect(await texts.read('b', load)).toBe('bbbbbbb')
})

it('forgets values of a failed write', async () => {
  const texts = createRowCache<string>(10)
  await texts.read('a', async () => 'a')
  texts.mark()

  await texts.write(
    'a',
    async () => 'b',
    (_old, result) => result,
  )
  expect(await texts.read('a', load)).toBe('b')
  texts.undo()
  expect(await texts.read('a', load)).toBeNull()
})

it('keeps no answer that was on its way while the row was written', async () => {
  const texts = createRowCache<string>(10)
  const slow = Promise.withResolvers<string>()
  const reading = texts.read('a', () => slow.promise)

  await texts.write('a', async () => 'new')
  slow.resolve('old')

  expect(await reading).toBe('old')
  expect(await texts.read('a', async () => 'new')).toBe('new')
})

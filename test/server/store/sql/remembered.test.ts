import { expect, it } from 'vitest'
import { createRemembered } from '../../../../server/src/store/sql/remembered.ts'

const load = async () => null

it('keeps what weighs too much together no longer, also when it grew in its place', async () => {
  const texts = createRemembered<string>(10, ({ length }) => length)
  await texts.read('a', async () => 'aaaa')
  await texts.read('b', async () => 'bbbb')

  expect(texts.change('b', (old) => `${old}bb`, 2)).toBe('bbbbbb')
  expect(await texts.read('a', load)).toBe('aaaa')

  expect(texts.change('b', (old) => `${old}b`, 1)).toBe('bbbbbbb')
  expect(await texts.read('a', load)).toBeNull()
  expect(await texts.read('b', load)).toBe('bbbbbbb')
})

it('changes nothing that it does not know, or that does not become anything', () => {
  const texts = createRemembered<string>(10)

  expect(texts.change('a', () => 'b')).toBeNull()
  expect(texts.change('a', () => 'c')).toBeNull()
})

it('leaves what becomes nothing as it was, and forgets what was changed in vain', async () => {
  const texts = createRemembered<string>(10)
  await texts.read('a', async () => 'a')
  texts.mark()

  expect(texts.change('a', () => null)).toBeNull()
  expect(await texts.read('a', load)).toBe('a')

  texts.change('a', () => 'b')
  texts.undo()
  expect(await texts.read('a', load)).toBeNull()
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { countJson } from '../../../packages/protocol/src/json/count-json.ts'

const count = (text: string) => countJson(new TextEncoder().encode(text))

it('counts all values and the members of the widest object, for any strings and spacing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, ' ', '\t'), (value, space) => {
      expect(count(JSON.stringify(value, null, space))).toEqual({
        values: valuesOf(value),
        members: mostMembersOf(value),
      })
    }),
    { seed: 20_261_122, numRuns: 2_000 },
  )
})

it.each([
  ['[]', 1],
  ['[ ]', 1],
  ['{"a":{},"b":[ \n]}', 3],
  [String.raw`["a,b","[","\"",",\\"]`, 5],
  [String.raw`["\\\",[",{"}":1}]`, 4],
])('counts %s', (text, expected) => {
  expect(count(text).values).toBe(expected)
})

it.each(['', '"', '"\\', '[', ']', ']]:]:', '{{{', '[,,'])(
  'terminates for `%s`, which is not JSON',
  (text) => {
    expect(count(text).values).toBeLessThanOrEqual(text.length + 1)
  },
)

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 1)
}

function mostMembersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value).map(mostMembersOf)
  const own = Array.isArray(value) ? 0 : inner.length
  return inner.reduce((most, each) => Math.max(most, each), own)
}

it('counts repeated members each time', () => {
  expect(count('{"a":{"b":1,"b":1,"b":1},"c":2}')).toEqual({ values: 6, members: 3 })
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { countJsonValues } from '../../../packages/protocol/src/json/count-json-values.ts'

const count = (text: string) => countJsonValues(new TextEncoder().encode(text))

it('counts every value of a text, whatever its strings hold and however it is spaced', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, ' ', '\t'), (value, space) => {
      expect(count(JSON.stringify(value, null, space))).toBe(valuesOf(value))
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
  expect(count(text)).toBe(expected)
})

it.each(['', '"', '"\\', '[', ']', '{{{', '[,,'])('ends for `%s`, which is no JSON', (text) => {
  expect(count(text)).toBeLessThanOrEqual(text.length + 1)
})

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 1)
}

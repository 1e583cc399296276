import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatCanonicalJson } from '../../../server/src/history/canonical-json.ts'
import { casesOfRun } from '../../lanes/run-size.ts'

/** RFC 8785 §3.2.3, implemented literally: every object by itself, member by member. */
function formatByTheBook(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatByTheBook).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${formatByTheBook(member)}`)
  return `{${members.join(',')}}`
}

/** Member names, including those that ECMAScript sorts first or treats specially. */
function values(): fc.Arbitrary<unknown> {
  const { tree } = fc.letrec((tie) => ({
    name: fc.oneof(
      fc.constantFrom(
        '10',
        '9',
        '0',
        '01',
        '-1',
        '__proto__',
        'toJSON',
        '',
        'é',
        '\u{1F600}',
        '\uFB33',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    ),
    leaf: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true }),
      fc.constant(null),
      fc.boolean(),
    ),
    object: fc
      .array(fc.tuple(tie('name'), tie('tree')), { maxLength: 5 })
      .map((members) => Object.fromEntries(members as [string, unknown][]) as unknown),
    tree: fc.oneof(
      { depthSize: 'small' },
      tie('leaf'),
      tie('object'),
      fc.array(tie('tree'), { maxLength: 4 }),
    ),
  }))
  return tree
}

it('sorts the members of every object by code units', () => {
  fc.assert(
    fc.property(values(), (value) => {
      expect(formatCanonicalJson(value)).toBe(formatByTheBook(value))
    }),
    { numRuns: casesOfRun(500) },
  )
})

it('does not change the value', () => {
  const value = { b: [{ d: 1, c: 2 }], a: { 2: 0, 1: 0 } }

  formatCanonicalJson(value)

  expect(JSON.stringify(value)).toBe('{"b":[{"d":1,"c":2}],"a":{"1":0,"2":0}}')
})

it('is that of the stored text when a member or element is undefined', () => {
  const value = { b: undefined, 9: [undefined, { c: undefined }], a: 1 }

  expect(formatCanonicalJson(value)).toBe('{"9":[null,{}],"a":1}')
  expect(formatCanonicalJson(JSON.parse(JSON.stringify(value)))).toBe(formatCanonicalJson(value))
})

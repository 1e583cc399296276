import { parseJson, parseJsonInSteps, type JsonLimits } from '@palisade/protocol'
import { test as property, fc } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'
import { referenceKind, writtenJson } from './written-json.ts'

/** The same value in a text that differs from the output of `JSON.stringify`. */
const spaced = (text: string): string => ` ${text}`

const kindOf = (text: string): string => {
  const parsed = parseJson(text)
  return parsed.ok ? 'ok' : parsed.problem.kind
}

describe('parseJson', () => {
  it.each([
    ['{"a":1,"a":2}', 'duplicate_member'],
    ['{"a":1,"a":1}', 'duplicate_member'],
    ['{"a":1,"\\u0061":2}', 'duplicate_member'],
    ['{"__proto__":1,"__proto__":2}', 'duplicate_member'],
    ['[{"a":{"b":1,"b":1}}]', 'duplicate_member'],
    ['{"1":1,"0":0,"1":1}', 'duplicate_member'],
    ['{"a":1,"b":{"a":1}}', 'ok'],
    ['{"1":1,"0":0}', 'ok'],
    ['{"__proto__":1}', 'ok'],
    ['{"toJSON":1}', 'ok'],
    ['{"a":1e2}', 'ok'],
    ['"\\ud800"', 'ok'],
    ['{"a":1', 'syntax'],
  ])('reads %s with the same result if it has white space: %s', (text, expected) => {
    expect([kindOf(text), kindOf(spaced(text))]).toEqual([expected, expected])
  })

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('accepts %s of 32 levels and no more', (_title, open, close) => {
    const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`
    const kinds = [32, 33, 100_000].map((levels) => [nested(levels), spaced(nested(levels))])

    expect(kinds.map((texts) => texts.map(kindOf))).toEqual([
      ['ok', 'ok'],
      ['too_deep', 'too_deep'],
      ['too_deep', 'too_deep'],
    ])
  })

  property.prop([fc.json({ maxDepth: 6 })])('returns the value of JSON.parse', (text) => {
    expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) })
    expect(parseJson(spaced(text))).toEqual({ ok: true, value: JSON.parse(text) })
  })

  property.prop([fc.string(), fc.json({ maxDepth: 3 }), fc.json({ maxDepth: 3 })])(
    'finds any repeated member, with an equal or another value',
    (name, one, other) => {
      const member = JSON.stringify(name)

      expect(kindOf(`[{${member}:${one},${member}:${other}}]`)).toBe('duplicate_member')
      expect(kindOf(`[{${member}:${one},${member}:${one}}]`)).toBe('duplicate_member')
    },
  )
})

describe('the checks of parseJson', () => {
  property.prop([writtenJson, fc.nat(34)], { numRuns: 2_000 })(
    'agree with a reader of tokens, and keep the value of JSON.parse',
    (text, levels) => {
      const nested = `${'['.repeat(levels)}${text}${']'.repeat(levels)}`
      const parsed = parseJson(nested)

      expect(kindOf(nested)).toBe(referenceKind(nested))
      if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(nested))
    },
  )

  property.prop([writtenJson, fc.nat(), fc.string({ maxLength: 2 }), fc.nat(2)], {
    numRuns: 2_000,
  })('refuse as syntax exactly the texts that JSON.parse refuses', (text, at, put, cut) => {
    const place = at % (text.length + 1)
    const spoilt = text.slice(0, place) + put + text.slice(place + cut)

    expect(kindOf(spoilt) === 'syntax').toBe(!isJson(spoilt))
    const problem = problemOf(spoilt)
    if (problem?.kind === 'syntax') expect(problem.offset).toBeGreaterThanOrEqual(0)
  })

  it.each([
    ['{"a":1', 6],
    ['{"a" 1}', 5],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['{} x', 3],
    ['[01]', 2],
    ['[1.]', 1],
    ['[nul]', 1],
    ['["\\x"]', 1],
    ['["a\nb"]', 1],
    ['[1}', 2],
    ['{"a":1,}', 7],
    ['{"a":1,"a":2,', 13],
    ['// no\n1', 0],
  ])('report the offset at which %s is not JSON', (text, offset) => {
    expect(problemOf(text)).toMatchObject({ kind: 'syntax', offset })
  })

  it('report line and column of an error, and the repeated member', () => {
    expect(problemOf('{\n\n  "a": x}')?.message).toBe(
      'the text is not valid JSON at line 3, column 8',
    )
    expect(problemOf('{ "a": 1, "\\u0061": 2 }')).toEqual({
      kind: 'duplicate_member',
      message: 'member `a` stands twice',
      offset: 10,
      member: 'a',
    })
  })

  it.each([
    ['blanks', ' '],
    ['tabs', '\t'],
    ['empty lines', '\n'],
  ])('allocate no memory for %s', (_title, blank) => {
    const blanks = blank.repeat(4_000_000)
    for (const text of [`[${blanks}]`, `[${blanks}`, `{"a":1,${blanks}"a":1}`]) {
      const before = process.memoryUsage().heapUsed
      parseJson(text)
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(3 * text.length)
    }
  })
})

describe('the limits of parseJson', () => {
  property.prop([fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, ' ', '\t')], {
    numRuns: 2_000,
  })('count all values, and the shapes of objects', (value, space) => {
    const text = JSON.stringify(value, null, space)
    const [maxValues, maxShapes] = [valuesOf(value), shapesOf(text)]

    expect(parseJson(text, { maxValues, maxShapes })).toEqual(parseJson(text))
    expect(problemOf(text, { maxValues: maxValues - 1 })?.kind).toBe('too_many_values')
    if (maxShapes > 0)
      expect(problemOf(text, { maxShapes: maxShapes - 1 })?.kind).toBe('too_many_shapes')
  })

  it.each([
    ['[]', 1],
    ['[ ]', 1],
    ['{"a":{},"b":[ \n]}', 3],
    [String.raw`["a,b","[","\"",",\\"]`, 5],
    [String.raw`["\\\",[",{"}":1}]`, 4],
  ])('count %s', (text, values) => {
    expect(parseJson(text, { maxValues: values }).ok).toBe(true)
    expect(problemOf(text, { maxValues: values - 1 })).toEqual({
      kind: 'too_many_values',
      message: `the text holds more than ${values - 1} values`,
      offset: -1,
    })
  })

  it.each([
    ['objects with names of their own', (index: number) => `{"a${index}":1}`],
    ['objects with names in an order of their own', nameOrder],
    // V8 reserves kilobytes for some of them.
    ['objects with array indices as names', () => '{"34":1}'],
    ['objects with array indices written as escapes', () => String.raw`{"\u00334":1}`],
  ])('refuse %s, which V8 parses slowly', (_title, write) => {
    const text = `[${Array.from({ length: 50_000 }, (_, index) => write(index)).join()}]`

    expect(parseJson(text).ok).toBe(true)
    expect(problemOf(text, { maxShapes: 1000 })).toEqual({
      kind: 'too_many_shapes',
      message: 'more than 1000 different lists of member names',
      offset: -1,
    })
  })

  it.each(['', '"', '"\\', '[', ']', ']]:]:', '{{{', '[,,'])(
    'end for `%s`, which is not JSON',
    (text) => expect(parseJson(text, { maxValues: 9, maxShapes: 9 }).ok).toBe(false),
  )

  it('let other work run between the steps for a large text', () => {
    const wrong = '[0],'.repeat(100_000)
    const stepsOf = (text: string) => [...parseJsonInSteps(text, {})].length

    expect(stepsOf(`[${wrong}0,]`)).toBeGreaterThan(10)
    expect(stepsOf(`[${' '.repeat(4_000_000)}]`)).toBeGreaterThan(8)
    expect(stepsOf('[]')).toBe(2)
    expect(problemOf(`[${wrong}0,]`)).toMatchObject({ kind: 'syntax', offset: wrong.length + 3 })
  })
})

/** A value, and all values in it. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesOf(inner), 1)
}

/** An object of four members, with few names in many orders. */
function nameOrder(index: number): string {
  const members = [7, 11, 13, 17].map((step, place) => `"${place}${index % step}":1`)
  return `{${members.join()}}`
}

/**
 * Beginnings of the lists of names of all objects. `__proto__` is a name like any other; one that
 * begins with a digit or has an escape begins a new list.
 */
function shapesOf(text: string): number {
  const shapes = new Set<string>()
  let uniques = 0
  const unique = () => `unique ${(uniques += 1)}`
  JSON.parse(text, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const names = Object.keys(value).map((name) =>
      /^\d/.test(name) || JSON.stringify(name).includes('\\') ? unique() : name,
    )
    names.forEach((_, index) => shapes.add(JSON.stringify(names.slice(0, index + 1))))
    return value
  })
  return shapes.size
}

function problemOf(text: string, limits: JsonLimits = {}) {
  const parsed = parseJson(text, limits)
  return parsed.ok ? null : parsed.problem
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

import { parseJson } from '@palisade/protocol'
import { test as property, fc } from '@fast-check/vitest'
import { describe, expect, it } from 'vitest'

/** The same value in a text that is not what `JSON.stringify` writes. */
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
  ])('reads %s the same however it is written: %s', (text, expected) => {
    expect([kindOf(text), kindOf(spaced(text))]).toEqual([expected, expected])
  })

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('goes 32 levels deep into %s and no further', (_title, open, close) => {
    const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`
    const kinds = [32, 33, 100_000].map((levels) => [nested(levels), spaced(nested(levels))])

    expect(kinds.map((texts) => texts.map(kindOf))).toEqual([
      ['ok', 'ok'],
      ['too_deep', 'too_deep'],
      ['too_deep', 'too_deep'],
    ])
  })

  property.prop([fc.json({ maxDepth: 6 })])('answers what JSON.parse does', (text) => {
    expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) })
    expect(parseJson(spaced(text))).toEqual({ ok: true, value: JSON.parse(text) })
  })

  property.prop([fc.string(), fc.json({ maxDepth: 3 }), fc.json({ maxDepth: 3 })])(
    'finds any member that stands twice, the same value or another',
    (name, one, other) => {
      const member = JSON.stringify(name)

      expect(kindOf(`[{${member}:${one},${member}:${other}}]`)).toBe('duplicate_member')
      expect(kindOf(`[{${member}:${one},${member}:${one}}]`)).toBe('duplicate_member')
    },
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatAge, formatSpan } from '../../../packages/cli/src/terminal/age.ts'
import { jsonLine, printable } from '../../../packages/cli/src/terminal/printable.ts'
import { createStyle } from '../../../packages/cli/src/terminal/style.ts'
import { formatTable } from '../../../packages/cli/src/terminal/table.ts'

const ANYTHING = fc.string({ unit: 'binary' })
const ACTIVE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

describe('printable', () => {
  it('escapes the characters that a terminal interprets, and no others', () => {
    fc.assert(
      fc.property(ANYTHING, (text) => {
        const shown = printable(text)

        expect(shown).not.toMatch(ACTIVE)
        expect(shown === text).toBe(!ACTIVE.test(text))
      }),
    )
  })
})

describe('jsonLine', () => {
  it('parses to the same value, in one harmless line', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const line = jsonLine(value)

        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(line.slice(0, -1)).not.toMatch(ACTIVE)
      }),
    )
  })

  it('escapes active characters beyond the basic plane', () => {
    const value = { name: 'a\u{e0041}b\ud800' }

    expect(JSON.parse(jsonLine(value))).toEqual(value)
    expect(jsonLine(value)).toContain('\\udb40\\udc41')
  })
})

describe('formatTable', () => {
  it('aligns by display width and escapes line feeds of a cell', () => {
    const style = createStyle(false)

    const table = formatTable(
      ['A', 'B'],
      [
        ['日本', 'x'],
        ['a\nb', ['1', '2']],
      ],
      style,
    )

    expect(table).toBe('A         B\n日本      x\na\\u000ab  1\n          2\n')
  })

  it('uses colour only if enabled', () => {
    expect(createStyle(true).bad('deny')).toBe('\u001b[31mdeny\u001b[39m')
    expect(createStyle(false).bad('deny')).toBe('deny')
    expect(createStyle(true).bad('\u001b[0m')).toBe('\u001b[31m\\u001b[0m\u001b[39m')
  })
})

describe('formatSpan', () => {
  it.each([
    ['2026-11-21T11:57:00Z', 'for 3 minutes'],
    ['2026-11-20T10:00:00Z', 'for 1 day'],
    ['2026-11-21T12:00:00.500Z', 'for less than a second'],
    ['2026-11-21T13:00:00Z', 'for less than a second'],
    ['some day', 'since some day'],
  ])('formats %s as %j', (since, words) => {
    expect(formatSpan(since, Date.parse('2026-11-21T12:00:00.900Z'))).toBe(words)
  })
})

describe('formatAge', () => {
  const now = Date.parse('2026-11-21T12:00:00.000Z')
  it.each([
    ['2026-11-21T12:00:00.000Z', 'just now'],
    ['2026-11-21T11:59:59.000Z', '1 second ago'],
    ['2026-11-21T11:58:01.000Z', '1 minute ago'],
    ['2026-11-21T10:00:00.000Z', '2 hours ago'],
    ['2026-11-18T12:00:00.000Z', '3 days ago'],
    ['2026-11-21T12:05:00.000Z', 'in 5 minutes'],
    ['nonsense', 'nonsense'],
  ])('formats %s as %s', (instant, words) => {
    expect(formatAge(instant, now)).toBe(words)
  })
})

import { describe, expect, it } from 'vitest'
import { describeConfusable } from '../../../packages/policy-analysis/src/lint/scripts.ts'

describe('describeConfusable', () => {
  it.each([
    'example-1',
    'bücher',
    'пример',
    'παράδειγμα',
    '例え',
    'テストtest例',
    '中文ㄅㄆ',
    '한국어hangul韓',
    'مثال',
    '١٢٣',
    'देवनागरी',
    'नही-1',
  ])('returns null for %s', (label) => {
    expect(describeConfusable(label, 'test')).toBeNull()
  })

  it.each([
    ['аpple', 'Latin, Cyrillic'],
    ['goοgle', 'Latin, Greek'],
    ['пример例', 'Han, Cyrillic'],
    ['ひらが한', 'Hiragana, Hangul'],
    ['Ꭺpple', 'Latin, a rare one'],
  ])('describes the mixed scripts of %s', (label, scripts) => {
    expect(describeConfusable(label, 'test')).toBe(`mixes the letters of scripts (${scripts})`)
  })

  it('describes Cyrillic words that look like Latin ones', () => {
    expect(describeConfusable('аррӏе', 'com')).toBe(
      'consists of Cyrillic letters that look like Latin ones',
    )
  })
  it.each(['рф', 'ru', 'ua', 'bg'])('accepts Cyrillic words below `%s`', (top) => {
    expect(describeConfusable('ресурс', top)).toBeNull()
  })
})

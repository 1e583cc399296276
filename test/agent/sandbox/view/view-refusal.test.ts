import { describe, expect, it } from 'vitest'
import { hasInvalidBytes, quotePath } from '../../../../agent/src/sandbox/view/view-refusal.ts'

describe('a path in a message', () => {
  it('is shown as written, with control characters and back-ticks escaped', () => {
    expect(quotePath('/a/\u00e9 b')).toBe('`/a/\u00e9 b`')
    expect(quotePath('/a\nb\u202e`c\\')).toBe('`/a\\u{a}b\\u{202e}\\u{60}c\\u{5c}`')
    expect(quotePath('/a\ufffd')).toBe('`/a\ufffd`')
  })

  it('is shown in bytes when it is not UTF-8', () => {
    expect(quotePath(Buffer.from([0x2f, 0x61, 0xff, 0x0a]))).toBe('`/a\\xff\\x0a`')
    expect(hasInvalidBytes(Buffer.from('a\ufffd'))).toBe(false)
    expect(hasInvalidBytes(Buffer.from([0x61, 0xff]))).toBe(true)
  })

  it('is cut when it is long', () => {
    expect(quotePath(`/${'a'.repeat(500)}`)).toBe(`\`/${'a'.repeat(199)}…\``)
    expect(quotePath('/' + '\u00e9'.repeat(500))).toHaveLength(1 + 1 + 99 + 1 + 1)
  })
})

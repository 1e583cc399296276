import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import {
  formatAuthority,
  isSameTarget,
  parseAuthority,
} from '../../../../agent/src/proxy/target/authority.ts'

const fragment = fc.constantFrom(...'aA10.:[]@%-_/\\\0 é１', 'test', '::', ':80', '127', 'xn--')
const authority = fc.oneof(
  fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.webAuthority({ withPort: true, withIPv4: true, withIPv6: true }),
  fc.string(),
)

describe('parseAuthority', () => {
  test.prop([authority])('parses its own canonical form to the same target', (text) => {
    const target = parseAuthority(text, 80)
    if (target === null) return

    const again = parseAuthority(formatAuthority(target, 80), 80)

    expect(again !== null && isSameTarget(again, target)).toBe(true)
  })

  test.prop([fc.domain(), fc.integer({ min: 1, max: 65_535 })])(
    'accepts every plain name and port',
    (name, port) => {
      expect(parseAuthority(`${name.toUpperCase()}:${port}`, null)).toEqual({
        host: name.toLowerCase(),
        port,
      })
    },
  )

  test.prop([
    fc.string(),
    fc.constantFrom('@', '/', '\\', '?', '#', '%', ' ', '\0', '\n', '\u0080'),
    fc.string(),
  ])('refuses every text with a delimiter', (before, delimiter, behind) => {
    expect(parseAuthority(before + delimiter + behind, 80)).toBeNull()
  })
})

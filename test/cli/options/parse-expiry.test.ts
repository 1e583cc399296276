import { expect, it } from 'vitest'
import { parseExpiry } from '../../../packages/cli/src/options/parse-expiry.ts'

const NOW = Date.parse('2026-11-21T08:00:00.250Z')

it.each([
  ['8h', '2026-11-21T16:00:00.250Z'],
  ['14d', '2026-12-05T08:00:00.250Z'],
  ['2026-12-31', '2026-12-31T00:00:00.000Z'],
  ['2026-12-31T18:00:00Z', '2026-12-31T18:00:00.000Z'],
  ['1999-01-01T00:00:00.5Z', '1999-01-01T00:00:00.500Z'],
])('the expiry `%s` is %s', (written, expected) => {
  expect(parseExpiry(written, '--expires', NOW)).toBe(expected)
})

it.each(['', '0s', '8', '8w', '99999d', '2026-02-30', '2026-12-31T18:00:00+01:00', 'tomorrow'])(
  'the expiry `%s` is refused with an example',
  (written) => {
    expect(() => parseExpiry(written, '--expires', NOW)).toThrow(/^`--expires` must be /)
  },
)

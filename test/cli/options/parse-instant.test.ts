import { expect, it } from 'vitest'
import { describeStart } from '../../../packages/cli/src/options/parse-instant.ts'

it.each([
  ['1d', 'in the last 1d'],
  ['2026-11-01', 'since 2026-11-01'],
  ['2026-11-01T00:00:00Z', 'since 2026-11-01T00:00:00Z'],
])('the start `%s` of a period is `%s`', (written, said) => {
  expect(describeStart(written)).toBe(said)
})

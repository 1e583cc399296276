import { expect, it } from 'vitest'
import { isDocument } from '../../../packages/protocol/src/policy-text/is-document.ts'

const GOOD = {
  policies: [
    {
      name: 'web',
      rules: [
        { name: 'a', actions: ['connect:tcp'], decision: 'allow', resources: ['example.com'] },
      ],
    },
  ],
}

it.each<[boolean, unknown]>([
  [true, GOOD],
  [true, { $schema: 'x', policies: [] }],
  [true, { policies: [{ name: 'a', rules: null }, { name: 'b' }] }],
  [false, { policies: [] }],
  [false, { policies: [{ name: 'a' }] }],
  [false, { policies: [{ id: 'pol_1', name: 'a', rules: [] }] }],
  [
    false,
    {
      policies: [
        { name: 'a', rules: [] },
        { name: 'b', allowlist_v0: { rules: [] } },
      ],
    },
  ],
  [false, { ...GOOD, governed: true }],
  [false, { policies: GOOD }],
  [false, [GOOD]],
  [false, null],
])('is the form that plan reads: %s for %j', (expected, value) => {
  expect(isDocument(value)).toBe(expected)
})

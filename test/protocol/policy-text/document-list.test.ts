import { expect, it } from 'vitest'
import {
  documentList,
  type DocumentList,
} from '../../../packages/protocol/src/policy-text/document-list.ts'

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

it.each<[DocumentList | null, unknown]>([
  ['policies', GOOD],
  ['policies', { $schema: 'x', policies: [] }],
  ['policies', { policies: [{ name: 'a', rules: null }, { name: 'b' }] }],
  [null, { policies: [] }],
  [null, { policies: [{ name: 'a' }] }],
  [null, { policies: [{ id: 'pol_1', name: 'a', rules: [] }] }],
  [
    null,
    {
      policies: [
        { name: 'a', rules: [] },
        { name: 'b', allowlist_v0: { rules: [] } },
      ],
    },
  ],
  [null, { ...GOOD, governed: true }],
  [null, { policies: GOOD }],
  [null, [GOOD]],
  [null, null],
  ['local', { local: GOOD.policies }],
  ['local', { $schema: 'x', local: [] }],
  [null, { local: [] }],
  [null, { local: [{ id: 'mine', name: 'mine', rules: [] }] }],
  [null, { local: GOOD.policies, policies: GOOD.policies }],
])('has the list %s of policies by name: %j', (expected, value) => {
  expect(documentList(value)).toBe(expected)
})

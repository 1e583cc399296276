import { makeSelfTest, type SelfTestVector } from '@palisade/policy-core'
import { formatSelfTest, readSelfTest } from '@palisade/protocol'
import { expect, it } from 'vitest'

const expected = { match: [0, 12], miss: [] }
const LINES: readonly (readonly [string, SelfTestVector])[] = [
  [
    '+0,12 - connect:tcp 443 2001:db8::1',
    { kind: 'connect', action: 'connect:tcp', host: '2001:db8::1', port: 443, ...expected },
  ],
  [
    '+ -3 connect:udp 65535 a.example 192.0.2.1',
    {
      kind: 'connect',
      action: 'connect:udp',
      host: 'a.example',
      port: 65_535,
      address: '192.0.2.1',
      match: [],
      miss: [3],
    },
  ],
  [
    '+0,12 - write ~/two words +1 -2 read /',
    { kind: 'path', action: 'write', path: '~/two words +1 -2 read /', ...expected },
  ],
]

it.each(LINES)('`%s` is written and read', (line, vector) => {
  expect(formatSelfTest([vector])).toEqual([line])
  expect(readSelfTest([line])).toEqual([vector])
})

it('reads the self-test of any names and paths', () => {
  const rule = { id: 'rule_1', name: 'all', decision: 'deny' } as const
  const vectors = [
    {
      ...rule,
      actions: ['read'],
      resources: ['/ - +', '/\u00e9 \u{1f512}/**', '~/ x', '/\u2028\u2029'],
    } as const,
    {
      ...rule,
      actions: ['connect:tcp'],
      resources: ['m\u00fcnchen.example:1', '::/0', '10.0.0.0/8'],
    } as const,
  ].flatMap((each) => makeSelfTest({ id: 'pol_1', name: 'x', allowlist_v0: { rules: [each] } }))

  expect(vectors.length).toBeGreaterThan(12)
  expect(readSelfTest(formatSelfTest(vectors))).toEqual(vectors)
})

const INDICES = Array.from({ length: 64 }, (_, index) => index)

it.each([
  ['', []],
  ['0', [0]],
  ['00012,99999', [12, 99_999]],
  [INDICES.join(), INDICES],
  [`${INDICES.join()},64`, null],
  ['100000', null],
  [',', null],
  ['1,', null],
  [',1', null],
  ['1,,2', null],
])('reads the indices `%s` as match and as miss, or refuses the line', (text, indices) => {
  const request = { kind: 'path', action: 'read', path: '/x' } as const
  expect(readSelfTest([`+${text} - read /x`])).toEqual(
    indices && [{ ...request, match: indices, miss: [] }],
  )
  expect(readSelfTest([`+ -${text} read /x`])).toEqual(
    indices && [{ ...request, match: [], miss: indices }],
  )
})

it.each([
  ['+', 'no parts'],
  ['+0', 'no indices that miss'],
  ['+0 -1', 'no action'],
  ['+0 -1 read', 'no target'],
  ['+0 -1 read ', 'an empty target'],
  ['+0 -1  /x', 'an empty action'],
  ['+0 -1 read\t /x', 'white space in its action'],
  ['+0 1 -1 read /x', 'a space among its indices'],
  ['+0 -1\tread /x', 'other white space after its indices'],
])('refuses the line `%s`, which has %s', (line) => {
  expect(readSelfTest([line])).toBeNull()
})

it('skips lines that a newer version may understand', () => {
  expect(readSelfTest(['?0 -1 read /x', '+0 -1 execute /x'])).toEqual([])
})

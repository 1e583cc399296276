import { makeSelfTest, type SelfTestVector } from '@palisade/policy-core'
import { formatSelfTest, readSelfTest } from '@palisade/protocol'
import { expect, it } from 'vitest'

const said = { match: [0, 12], miss: [] }
const LINES: readonly (readonly [string, SelfTestVector])[] = [
  [
    '+0,12 - connect:tcp 443 2001:db8::1',
    { kind: 'connect', action: 'connect:tcp', host: '2001:db8::1', port: 443, ...said },
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
    { kind: 'path', action: 'write', path: '~/two words +1 -2 read /', ...said },
  ],
]

it.each(LINES)('`%s` is written and read', (line, vector) => {
  expect(formatSelfTest([vector])).toEqual([line])
  expect(readSelfTest([line])).toEqual([vector])
})

it('reads what is made of any names and paths', () => {
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

const PLACES = Array.from({ length: 64 }, (_, place) => place)

it.each([
  ['', []],
  ['0', [0]],
  ['00012,99999', [12, 99_999]],
  [PLACES.join(), PLACES],
  [`${PLACES.join()},64`, null],
  ['100000', null],
  [',', null],
  ['1,', null],
  [',1', null],
  ['1,,2', null],
])('reads the places `%s`, wherever they stand, or refuses the line', (text, places) => {
  const asked = { kind: 'path', action: 'read', path: '/x' } as const
  expect(readSelfTest([`+${text} - read /x`])).toEqual(
    places && [{ ...asked, match: places, miss: [] }],
  )
  expect(readSelfTest([`+ -${text} read /x`])).toEqual(
    places && [{ ...asked, match: [], miss: places }],
  )
})

it.each([
  ['+', 'no parts'],
  ['+0', 'nothing that does not match'],
  ['+0 -1', 'no action'],
  ['+0 -1 read', 'nothing that is asked'],
  ['+0 -1 read ', 'an empty question'],
  ['+0 -1  /x', 'an empty action'],
  ['+0 -1 read\t /x', 'white space in its action'],
  ['+0 1 -1 read /x', 'a space among its places'],
  ['+0 -1\tread /x', 'another white space after its places'],
])('refuses the line `%s`, which has %s', (line) => {
  expect(readSelfTest([line])).toBeNull()
})

it('leaves what another version may know to that version', () => {
  expect(readSelfTest(['?0 -1 read /x', '+0 -1 execute /x'])).toEqual([])
})

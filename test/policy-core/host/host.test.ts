import { canonicalHost, checkRule, compilePolicy, decide } from '@palisade/policy-core'
import { expect, test } from 'vitest'

const EMPTY = compilePolicy({ policies: [] })

test.each([
  'xn--a.com',
  'XN--A.com',
  'xn--u-ccb.com',
  'a.xn--.com',
  'xn--abc-',
  'xn--a.xn--tda.com',
])('an `xn--` label that encodes no name is invalid, as browsers have it: %s', (host) => {
  expect(canonicalHost(host)).toBeNull()
})

test.each([
  ['xn--tda.com', 'xn--tda.com'],
  ['XN--TDA.Com.', 'xn--tda.com'],
  ['xn--ls8h.la', 'xn--ls8h.la'],
  ['xn--mgbh0fb.xn--kgbechtv', 'xn--mgbh0fb.xn--kgbechtv'],
  ['r3---sn-4g5e.example.com', 'r3---sn-4g5e.example.com'],
])('an `xn--` label that encodes a name stays: %s', (host, name) => {
  expect(canonicalHost(host)).toEqual({ kind: 'name', name })
})

test('a rule with an `xn--` label that encodes no name says so', () => {
  const rule = { actions: ['connect:tcp'], decision: 'allow', resources: ['*.xn--a.com'] } as const

  expect(checkRule(rule)[0]?.message).toContain('`xn--`')
})

test.each([
  ['a host', { action: 'connect:tcp', host: '1:'.repeat(5_000_000), port: 1 }],
  ['an address', { action: 'connect:tcp', host: 'a.b', port: 1, address: '1:'.repeat(5_000_000) }],
  ['a path', { action: 'read', path: '/a'.repeat(25_000_000) }],
])('%s of ten megabytes is refused unread', (_title, request) => {
  const startedMs = performance.now()

  expect(decide(EMPTY, request).reason).toBe('invalid_request')
  expect(performance.now() - startedMs).toBeLessThan(5_000)
})

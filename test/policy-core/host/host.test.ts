import { canonicalHost, checkRule, compilePolicy, decide } from '@palisade/policy-core'
import { expect, test } from 'vitest'
import { everyText } from '../every-text.ts'
import { policy, rule } from '../policies.ts'

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

test('a name in ASCII is what the URL parser makes of it, without the dot of the root', () => {
  let compared = 0
  for (const text of everyText(['a', 'A', 'x', 'X', '0', '-', '_', '.'], 5)) {
    const read = urlHost(text)
    if (read !== null && /^[0-9.]+$/.test(read)) continue
    const name = read?.endsWith('.') === true ? read.slice(0, -1) : read
    const isName = name !== null && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)
    expect(canonicalHost(text), text).toEqual(isName ? { kind: 'name', name } : null)
    compared += 1
  }
  expect(compared).toBeGreaterThan(30_000)
})

test.each([
  ['253 characters', 'A.'.repeat(126) + 'B', 'a.'.repeat(126) + 'b'],
  ['253 characters and a dot', 'A.'.repeat(126) + 'B.', 'a.'.repeat(126) + 'b'],
  ['254 characters', 'A.'.repeat(126) + 'BC', null],
  ['a label of 63 characters', `${'A'.repeat(63)}.B.`, `${'a'.repeat(63)}.b`],
  ['a label of 64 characters', `${'A'.repeat(64)}.B.`, null],
  ['two dots at the end', 'A.B..', null],
  ['a Kelvin sign, which is a letter k', '\u212a.B', 'k.b'],
])('%s in capitals', (_title, text, name) => {
  expect(canonicalHost(text)).toEqual(name === null ? null : { kind: 'name', name })
})

test('a rule with an `xn--` label that encodes no name says so', () => {
  const rule = { actions: ['connect:tcp'], decision: 'allow', resources: ['*.xn--a.com'] } as const

  expect(checkRule(rule)[0]?.message).toContain('`xn--`')
})

test('a rule may name the longest names there are, with wildcard and port', () => {
  const domain = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(59)}`
  const name = `x.${domain}`
  const rules = [`**.${domain}:65535`, `${name}:65535`].map((resource, index) =>
    rule(`r${index}`, 'allow', ['connect:tcp'], resource),
  )
  const compiled = compilePolicy({ policies: [policy('p', ...rules)] })
  const decisionOf = (host: string, port: number) =>
    decide(compiled, { action: 'connect:tcp', host, port }).decision

  expect(name).toHaveLength(253)
  expect([decisionOf(name, 65_535), decisionOf(name, 6_553)]).toEqual(['allow', 'deny'])
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

function urlHost(text: string): string | null {
  return URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : null
}

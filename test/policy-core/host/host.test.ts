import { canonicalHost, checkRule, compilePolicy, decide } from '@palisade/policy-core'
import { expect, test } from 'vitest'
import { everyText } from '../every-text.ts'
import { policy, rule } from '../policies.ts'

const EMPTY = compilePolicy({ policies: [] })

test.each([
  ['xn--a.com', 'xn--a.com'],
  ['XN--A.com', 'xn--a.com'],
  ['xn--u-ccb.com', 'xn--u-ccb.com'],
  ['a.xn--.com.', 'a.xn--.com'],
  ['xn--abc-', 'xn--abc-'],
  ['xn--board-ngr.palungjit.org', 'xn--board-ngr.palungjit.org'],
])('an ASCII name with an invalid `xn--` label is accepted: %s', (host, name) => {
  expect(canonicalHost(host)).toEqual({ kind: 'name', name })
})

test.each(['\u00fc.xn--a.com', 'xn--a.\u00fc.com', 'xn\uff0d\uff0da.com'])(
  'an invalid `xn--` label is rejected beside non-ASCII characters: %s',
  (host) => {
    expect(canonicalHost(host)).toBeNull()
  },
)

test.each([
  ['precomposed', '\u226e.test'],
  ['two code points', '<\u0338.test'],
])('a character of a name may be %s', (_title, host) => {
  expect(canonicalHost(host)).toEqual({ kind: 'name', name: 'xn--gdh.test' })
})

test.each(['<.test', '<a\u0338.test', 'ex\uff0561mple.com', 'ex\ufe6a61mple.com'])(
  'a bracket or a percent sign in any width is invalid: %s',
  (host) => {
    expect(canonicalHost(host)).toBeNull()
  },
)

test.each([
  ['xn--tda.com', 'xn--tda.com'],
  ['XN--TDA.Com.', 'xn--tda.com'],
  ['xn--ls8h.la', 'xn--ls8h.la'],
  ['xn--mgbh0fb.xn--kgbechtv', 'xn--mgbh0fb.xn--kgbechtv'],
  ['r3---sn-4g5e.example.com', 'r3---sn-4g5e.example.com'],
])('a valid `xn--` label is unchanged: %s', (host, name) => {
  expect(canonicalHost(host)).toEqual({ kind: 'name', name })
})

test('an ASCII name equals the host of the URL parser, without a trailing dot', () => {
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
])('upper case: %s', (_title, text, name) => {
  expect(canonicalHost(text)).toEqual(name === null ? null : { kind: 'name', name })
})

test('a rule accepts an ASCII host with an invalid `xn--` label', () => {
  const set = { policies: [policy('p', rule('r', 'allow', ['connect:tcp'], '**.xn--a.com'))] }
  const decisionOf = (host: string) =>
    decide(compilePolicy(set), { action: 'connect:tcp', host, port: 443 }).decision

  expect(decisionOf('b.XN--A.com')).toBe('allow')
  expect(decisionOf('xn--a.com')).toBe('deny')
})

test('a rule rejects an invalid `xn--` label beside non-ASCII characters', () => {
  const resources = ['*.\u00fc.xn--a.com']

  const [problem] = checkRule({ actions: ['connect:tcp'], decision: 'allow', resources })

  expect(problem?.message).toContain('`xn--` label must encode a name')
})

test('a rule accepts names of maximal length, with wildcard and port', () => {
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
])('%s of ten megabytes is rejected without reading it', (_title, request) => {
  const startedMs = performance.now()

  expect(decide(EMPTY, request).reason).toBe('invalid_request')
  expect(performance.now() - startedMs).toBeLessThan(5_000)
})

function urlHost(text: string): string | null {
  return URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : null
}

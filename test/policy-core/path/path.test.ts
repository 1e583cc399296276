import { compilePolicy, decide, explain, type Policy } from '@palisade/policy-core'
import { expect, test } from 'vitest'
import { foldCase } from '../../../packages/policy-core/src/path/path.ts'
import { policy, rule } from '../policies.ts'

/** Every code point whose letter case can change; the others fold to themselves. */
const CASED = Array.from({ length: 0x11_0000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((char) => /[\p{CWCF}\p{CWCM}\p{CWKCF}]/u.test(char))

test('paths that ignore letter case are equal exactly where simple case folding makes them equal', () => {
  const all = CASED.join('')
  const byFold = Map.groupBy(CASED, foldCase)

  const differing = CASED.filter((char) => {
    const escaped = char.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')
    const equal = all.match(new RegExp(escaped, 'giu')) ?? []
    return equal.join('') !== (byFold.get(foldCase(char)) ?? []).join('')
  })

  expect(CASED.length).toBeGreaterThan(2_000)
  expect(differing).toEqual([])
})

test('an allow of a letter does not reach another file where letter case is ignored', () => {
  const compiled = compilePolicy(
    { policies: [policy('p', rule('r', 'allow', ['read'], '/data/i'))] },
    { caseSensitive: false },
  )

  expect(decide(compiled, { action: 'read', path: '/DATA/I' }).decision).toBe('allow')
  expect(decide(compiled, { action: 'read', path: '/data/ı' }).decision).toBe('deny')
})

const LONG_PATH = `/home${'/a'.repeat(2_000)}`

function manyRules(resource: (index: number) => string): Policy {
  const rules = Array.from({ length: 25_000 }, (_, index) =>
    rule(`r${index}`, 'allow', ['read'], resource(index)),
  )
  return policy('p', ...rules)
}

// Generous: the work once took half a minute, in which the agent answered nobody else.
const LIMIT_MS = 10_000

test.each([
  ['`*` patterns', (index: number) => `/home/*/p${index}/**`],
  ['`**` patterns', (index: number) => `/home/**/p${index}/**`],
])('explaining a path of 2,000 segments against 25,000 %s takes no time to speak of', (_, of) => {
  const compiled = compilePolicy({ policies: [manyRules(of)] })
  const request = { action: 'read', path: LONG_PATH }
  const startedMs = performance.now()

  expect(explain(compiled, request).reason).toBe('default_deny')
  expect(decide(compiled, request).reason).toBe('default_deny')
  expect(performance.now() - startedMs).toBeLessThan(LIMIT_MS)
})

import { compilePolicy, decide, explain, type Policy } from '@palisade/policy-core'
import { expect, test } from 'vitest'
import { foldCase, parsePath } from '../../../packages/policy-core/src/path/path.ts'
import { everyText } from '../every-text.ts'
import { policy, rule } from '../policies.ts'
import { formatPath, readPath } from '../reference/path.ts'

/** Every code point that case mappings change. All others fold to themselves. */
const CASED = Array.from({ length: 0x11_0000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((char) => /[\p{CWCF}\p{CWCM}\p{CWKCF}]/u.test(char))

test('parsePath agrees with the reference on all texts of up to seven characters', () => {
  const wrong: string[] = []
  let read = 0
  for (const text of everyText(['/', '.', 'a', '\u00e9', '\0', '\ud83d'], 6)) {
    const found = parsePath(`/${text}`)
    if (found.ok) read += 1
    const expected = readPath(`/${text}`)
    if ((found.ok ? found.value : null) !== (expected === null ? null : formatPath(expected)))
      wrong.push(text)
  }
  expect(wrong).toEqual([])
  expect(read).toBeGreaterThan(2_500)
})

test.each([
  ['one byte', 'a', 4095],
  ['two bytes', '\u00e9', 2047],
  ['three bytes', '\u20ac', 1365],
  ['four bytes', '\u{1f4c1}', 1023],
])('a path has at most 4096 bytes, in characters of %s', (_title, character, most) => {
  expect(parsePath(`/${character.repeat(most)}`).ok).toBe(true)
  expect(parsePath(`/${character.repeat(most + 1)}`)).toMatchObject({
    ok: false,
    message: expect.stringContaining('longer than 4096 bytes'),
  })
})

test.each([
  ['/a/./b', '`.`'],
  ['/a/../b', '`..`'],
  ['/.', '`.`'],
  ['/..', '`..`'],
  ['/a/../', '`..`'],
  ['/../.', '`..`'],
])('%s is rejected for its %s segment', (path, segment) => {
  expect(parsePath(path)).toMatchObject({
    ok: false,
    message: expect.stringContaining(`has a ${segment} segment`),
  })
})

test('case-insensitive paths are equal if and only if simple case folding makes them equal', () => {
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

test('an allow of `i` does not match `ı` on a case-insensitive file system', () => {
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

// A generous limit: superlinear work takes much longer and blocks the agent.
const LIMIT_MS = 10_000

test.each([
  ['`*` patterns', (index: number) => `/home/*/p${index}/**`],
  ['`**` patterns', (index: number) => `/home/**/p${index}/**`],
])('explaining a path of 2,000 segments against 25,000 %s is fast', (_, of) => {
  const compiled = compilePolicy({ policies: [manyRules(of)] }, { patternLimits: false })
  const request = { action: 'read', path: LONG_PATH }
  const startedMs = performance.now()

  expect(explain(compiled, request).reason).toBe('default_deny')
  expect(decide(compiled, request).reason).toBe('default_deny')
  expect(performance.now() - startedMs).toBeLessThan(LIMIT_MS)
})

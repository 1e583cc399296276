import { allowsAllBelow, compilePolicy, decide, PolicyError } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pathPatterns } from '../arbitraries/path.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'
import { policy, rule } from '../policies.ts'

const HOME = '/a/b'

function allowing(patterns: readonly string[], caseSensitive = true) {
  const rules = patterns.map((pattern, index) => rule(`rule_${index}`, 'allow', ['read'], pattern))
  const set = { policies: [policy('pol_1', ...rules)], home: HOME }
  return compilePolicy(set, { caseSensitive, patternLimits: false })
}

/** The path, and others at most four levels below it. */
function pathsFrom(root: string, names: readonly string[]): string[] {
  let level = [root === '/' ? '' : root]
  const found = [root]
  for (let depth = 0; depth < 4; depth += 1) {
    level = level.flatMap((path) => names.map((name) => `${path}/${name}`))
    found.push(...level)
  }
  return found
}

/** One name that only `*` and `**` match, and two that other patterns match too. */
const NAMES = ['a', 'ab', 'unknown']

describe('the allows below a path', () => {
  it('reach all that decide allows, and no more', { timeout: LAW_TIMEOUT_MS }, () => {
    const cases = fc.tuple(
      fc.array(
        fc.oneof(
          pathPatterns(),
          fc.constantFrom('/a/*', '/a/*/**', '/a', '/a/**', '/a/b/**', '/**/b', '/*/**/*'),
        ),
        { minLength: 1, maxLength: 5 },
      ),
      fc.constantFrom('/', '/a', '/a/b', '/ab'),
      fc.boolean(),
    )
    const outcomes = everyCase({ runs: 2000 }, cases, ([patterns, root, sensitive], tally) => {
      const compiled = allowing(patterns, sensitive)
      const isOpen = allowsAllBelow(compiled, { action: 'read', path: root })
      const allowed = pathsFrom(root, NAMES).map(
        (path) => decide(compiled, { action: 'read', path }).decision,
      )

      expect(isOpen).toBe(allowed.every((decision) => decision === 'allow'))
      expect(allowsAllBelow(compiled, { action: 'write', path: root })).toBe(false)
      tally(isOpen ? 'open' : 'closed')
    })

    expect(outcomes.rarerThan({ open: 0.1, closed: 0.3 })).toEqual([])
  })

  it.each<[string[], string, boolean]>([
    [['/data/**'], '/data', true],
    [['/data/**'], '/data/a/b', true],
    [['/data'], '/data', false],
    [['/data/*'], '/data', false],
    [['/data', '/data/*'], '/data', false],
    [['/data', '/data/*', '/data/*/**'], '/data', true],
    [['/data/*/**'], '/data', false],
    [['/data/*/**'], '/data/a', true],
    [['/*/**'], '/data', true],
    [['~/**'], '/a/b/c', true],
    [['/data2/**', '/dat/**'], '/data', false],
    [['/data/**/*.txt', '/data'], '/data', false],
  ])('%j on %s: %s', (patterns, path, expected) => {
    expect(allowsAllBelow(allowing(patterns), { action: 'read', path })).toBe(expected)
  })

  it('ignore letter case where paths do', () => {
    const request = { action: 'read', path: '/DATA' } as const

    expect(allowsAllBelow(allowing(['/data/**'], false), request)).toBe(true)
    expect(allowsAllBelow(allowing(['/data/**']), request)).toBe(false)
  })

  it('play no part when a deny matches, and are all paths under a default that observes', () => {
    const deny = rule('rule_deny', 'deny', ['read'], '/data/**')
    const allow = rule('rule_allow', 'allow', ['read'], '/data/**')
    const request = { action: 'read', path: '/data' } as const
    const denied = compilePolicy({ policies: [policy('pol_1', deny, allow)] })
    const observing = compilePolicy({ policies: [policy('pol_1', deny)], default: 'observe' })

    expect(allowsAllBelow(denied, request)).toBe(true)
    expect(allowsAllBelow(observing, request)).toBe(true)
  })

  it('end with the rule that expires, and leave out shadow policies', () => {
    const expires = {
      ...rule('rule_1', 'allow', ['read'], '/data/**'),
      expires_at: '2030-01-01T00:00:00Z',
    }
    const compiled = compilePolicy({ policies: [policy('pol_1', expires)] })
    const shadow = compilePolicy({
      policies: [{ ...policy('pol_1', rule('rule_1', 'allow', ['read'], '/**')), mode: 'shadow' }],
    })
    const request = { action: 'read', path: '/data' } as const
    const expiry = Date.parse('2030-01-01T00:00:00Z')

    expect(allowsAllBelow(compiled, request, { now: expiry - 1 })).toBe(true)
    expect(allowsAllBelow(compiled, request, { now: expiry })).toBe(false)
    expect(() => allowsAllBelow(compiled, request)).toThrow(PolicyError)
    expect(allowsAllBelow(shadow, request)).toBe(false)
  })

  it('give up patterns that only a long search could decide', () => {
    const stars = Array.from({ length: 12 }, (_, index) => `/data/**/${'*a'.repeat(index + 2)}*/*`)
    const request = { action: 'read', path: '/data' } as const

    expect(allowsAllBelow(allowing(['/data', '/data/*', ...stars]), request)).toBe(false)
  })

  it('refuse a policy set that is not compiled', () => {
    const request = { action: 'read', path: '/data' } as const

    expect(() => allowsAllBelow({ policies: [] } as never, request)).toThrow(PolicyError)
  })
})

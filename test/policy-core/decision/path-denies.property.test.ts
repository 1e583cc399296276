import { compilePolicy, decide, pathDenies, PolicyError } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pathChoice, pathFrom } from '../arbitraries/path-request.ts'
import { pathPatterns, paths } from '../arbitraries/path.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'
import { policy, rule } from '../policies.ts'

const HOME = '/home/dev'

function denying(patterns: readonly string[], caseSensitive = true) {
  const denies = patterns.map((pattern, index) =>
    rule(`rule_${index}`, 'deny', index % 2 === 0 ? ['read'] : ['write'], pattern),
  )
  const open = rule('rule_open', 'allow', ['read', 'write'], '/**')
  const set = { policies: [policy('pol_1', open, ...denies)], home: HOME }
  return compilePolicy(set, { caseSensitive, patternLimits: false })
}

describe('the denies of paths', () => {
  it('say of every path what decide says', { timeout: LAW_TIMEOUT_MS }, () => {
    const cases = fc.tuple(
      fc.array(pathPatterns(), { minLength: 1, maxLength: 6 }),
      fc.array(pathChoice(), { minLength: 6, maxLength: 6 }),
      fc.array(paths(), { minLength: 6, maxLength: 6 }),
      fc.boolean(),
    )
    const outcomes = everyCase(
      { runs: 1000, casesPerRun: 20 },
      cases,
      ([patterns, choices, others, caseSensitive], tally) => {
        const compiled = denying(patterns, caseSensitive)
        const denies = pathDenies(compiled)
        const derived = choices.map((choice, index) =>
          pathFrom(patterns[index % patterns.length] ?? '/', HOME, choice),
        )
        for (const path of [...derived, ...others]) {
          for (const action of ['read', 'write'] as const) {
            const { decision, request } = decide(compiled, { action, path })
            if (request === null || !('path' in request)) continue

            expect(denies.at(request.path).denies[action]).toBe(decision === 'deny')
            tally(decision)
          }
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.15, deny: 0.1 })).toEqual([])
  })

  it('never end a walk above a denied path', { timeout: LAW_TIMEOUT_MS }, () => {
    const cases = fc.tuple(
      fc.array(pathPatterns(), { minLength: 1, maxLength: 4 }),
      fc.array(pathChoice(), { minLength: 6, maxLength: 6 }),
    )
    const outcomes = everyCase(
      { runs: 1000, casesPerRun: 6 },
      cases,
      ([patterns, choices], tally) => {
        const compiled = denying(patterns)
        const denies = pathDenies(compiled)
        for (const [index, choice] of choices.entries()) {
          const path = pathFrom(patterns[index % patterns.length] ?? '/', HOME, choice)
          const { decision, request } = decide(compiled, { action: 'read', path })
          if (request === null || !('path' in request)) continue
          const names = request.path === '/' ? [] : request.path.slice(1).split('/')
          for (let above = 0; above < names.length; above += 1) {
            const place = denies.at(`/${names.slice(0, above).join('/')}`)

            expect(decision === 'allow' || place.mayDenyBelow).toBe(true)
            expect(decision === 'deny' || !place.deniesAllBelow.read).toBe(true)
          }
          tally(decision)
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.1, deny: 0.1 })).toEqual([])
  })

  it('end a walk where no deny reaches', () => {
    const denies = pathDenies(denying(['/ws/secret/**', '/ws/*/key.pem']))

    expect(denies.at('/ws').mayDenyBelow).toBe(true)
    expect(denies.at('/ws/a').mayDenyBelow).toBe(true)
    expect(denies.at('/ws/a/b').mayDenyBelow).toBe(false)
    expect(denies.at('/other').mayDenyBelow).toBe(false)
    expect(denies.at('/ws/secret').deniesAllBelow).toEqual({ read: true, write: false })
  })

  it('list the paths that are denied without a wildcard', () => {
    const patterns = ['/a/b', '/a/c/**', '/a/**/d', '/a/*.pem', '~/x', '/a/b', '/']

    expect(pathDenies(denying(patterns)).literals).toEqual(['/a/b', '/a/c', `${HOME}/x`, '/'])
  })

  it('leave out rules that only allow, and rules about hosts', () => {
    const rules = [
      rule('rule_1', 'allow', ['read'], '/a'),
      rule('rule_2', 'deny', ['connect:tcp'], 'a.test'),
    ]
    const policies = [policy('pol_1', rules[0]!), policy('pol_2', rules[1]!)]
    const denies = pathDenies(compilePolicy({ policies }))

    expect(denies.literals).toEqual([])
    expect(denies.at('/a').denies).toEqual({ read: false, write: false })
  })

  it('refuse a policy set that is not compiled', () => {
    expect(() => pathDenies({ policies: [] } as never)).toThrow(PolicyError)
  })
})

import { compilePolicy, decide, type Decision, type Policy } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { buildGroups } from '../../../packages/policy-core/src/lookup/groups.ts'
import { flagOf } from '../../../packages/policy-core/src/lookup/flags.ts'
import { createMatchSet } from '../../../packages/policy-core/src/lookup/match-set.ts'
import { buildRuleTable } from '../../../packages/policy-core/src/lookup/rule-table.ts'
import { Verdicts } from '../../../packages/policy-core/src/lookup/verdicts.ts'
import { policy, rule } from '../policies.ts'
import { runSteps } from '../../../packages/policy-core/src/steps.ts'

const tcp = ['connect:tcp'] as const
const POLICY = {
  id: 'p',
  name: 'policy p',
  origin: 'org',
  isFullyActive: true,
  isShadow: false,
} as const

function ask(compiled: ReturnType<typeof compilePolicy>, host: string, address?: string): Decision {
  const request = { action: 'connect:tcp', host, port: 443 }
  return decide(compiled, address === undefined ? request : { ...request, address })
}

function named(decision: Decision): string[] {
  return decision.rules.map(({ rule_id, resource }) => `${rule_id} ${resource}`)
}

describe('the rules of a decision', () => {
  it('are the first resource of each rule that matched, in the order of the rules', () => {
    const compiled = compilePolicy({
      policies: [
        policy(
          'p',
          rule('b', 'allow', tcp, '*.a.test', '**.test', 'x.a.test'),
          rule('a', 'allow', tcp, '**.test', '*.a.test'),
          rule('c', 'allow', tcp, 'x.a.test:443', 'x.a.test:80'),
          rule('d', 'allow', tcp, 'x.a.test:80'),
        ),
      ],
    })

    expect(named(ask(compiled, 'x.a.test'))).toEqual(['a **.test', 'b *.a.test', 'c x.a.test:443'])
  })

  it('combine name and address, with one entry per rule', () => {
    const compiled = compilePolicy({
      policies: [
        policy(
          'p',
          rule('a', 'allow', tcp, '10.0.0.0/8', 'a.test'),
          rule('b', 'allow', tcp, '10.0.0.1'),
          rule('c', 'allow', tcp, '**.test'),
        ),
      ],
    })

    expect(named(ask(compiled, 'a.test', '10.0.0.1'))).toEqual([
      'a 10.0.0.0/8',
      'b 10.0.0.1',
      'c **.test',
    ])
    expect(named(ask(compiled, 'a.test', '192.0.2.1'))).toEqual(['a a.test', 'c **.test'])
    expect(named(ask(compiled, 'b.example', '10.0.0.1'))).toEqual(['a 10.0.0.0/8', 'b 10.0.0.1'])
  })

  it('have one decision: a deny that matches excludes every allow', () => {
    const compiled = compilePolicy({
      policies: [policy('p', rule('a', 'allow', tcp, '**.test'), rule('b', 'deny', tcp, 'a.test'))],
    })

    expect(named(ask(compiled, 'a.test'))).toEqual(['b a.test'])
    expect(named(ask(compiled, 'b.test'))).toEqual(['a **.test'])
  })

  it('stay the same when the cache overflows', () => {
    const wide = Array.from({ length: 3000 }, (_, index) =>
      rule(`r${String(index).padStart(4, '0')}`, 'allow', tcp, '**.test'),
    )
    const names = Array.from({ length: 200 }, (_, index) => `n${index}.test`)
    const narrow: Policy = policy('q', rule('own', 'allow', tcp, ...names))
    const compiled = compilePolicy({ policies: [policy('p', ...wide), narrow] })
    const first = ask(compiled, 'n0.test')

    const counts = names.map((name) => ask(compiled, name).rules.length)

    expect(new Set(counts)).toEqual(new Set([3001]))
    expect(ask(compiled, 'n0.test')).toEqual(first)
    expect(ask(compiled, 'n0.test').rules).not.toBe(first.rules)
  })

  it('leave the cache when their sets are too large, even for a single rule', () => {
    const resources = Array.from({ length: 1024 }, (_, index) => `n${index}.test`)
    const entry = {
      ...rule('r', 'allow', tcp, ...resources),
      policy: POLICY,
      beginsMs: -Infinity,
      expiresMs: Infinity,
    }
    const table = runSteps(buildRuleTable([entry]))
    const groups = buildGroups(table, Int32Array.from(resources.keys()), resources.length)
    const verdicts = new Verdicts(table, groups)
    const sets = Array.from({ length: 300 }, () =>
      createMatchSet([...resources.keys()], flagOf('allow', 0)),
    )

    for (const set of sets) expect(verdicts.of(set, 0).rules).toHaveLength(1)

    expect(sets.at(0)!.verdicts[0]).toBeNull()
    expect(sets.at(-1)!.verdicts[0]).not.toBeNull()
  })

  it('are frozen', () => {
    const compiled = compilePolicy({ policies: [policy('p', rule('a', 'allow', tcp, 'a.test'))] })
    const { rules } = ask(compiled, 'a.test')

    expect(Object.isFrozen(rules)).toBe(true)
    expect(rules.every((each) => Object.isFrozen(each))).toBe(true)
  })
})

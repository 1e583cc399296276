import { lint, type Finding } from '@palisade/policy-analysis'
import type { Rule } from '@palisade/policy-core'
import { expect, it } from 'vitest'
import { rule } from '../../policy-core/policies.ts'
import { of, read } from './sets.ts'

const RULES = 25_000

function lintRules(
  ruleOf: (index: number) => Pick<Rule, 'actions' | 'decision' | 'resources'>,
): readonly Finding[] {
  const policies = Array.from({ length: RULES / 250 }, (_, place) => ({
    id: `p${place}`,
    name: `p${place}`,
    allowlist_v0: {
      rules: Array.from({ length: 250 }, (__, index) => ({
        id: `r${index}`,
        name: `r${index}`,
        ...ruleOf(place * 250 + index),
      })),
    },
  }))
  return lint({ policies })
}

it('completes every check of 25,000 ordinary rules', () => {
  const findings = lintRules((index) => {
    const isPath = Math.floor(index / 250) % 2 === 0
    const host = `${['', '*.', '**.'][index % 3]}s${index % 5003}.t${index % 301}.example.com`
    return {
      actions: isPath ? ['read'] : ['connect:tcp'],
      decision: index % 10 === 0 ? 'deny' : 'allow',
      resources: [isPath ? `/data/p${index % 7001}/**` : host],
    }
  })

  expect(findings.length).toBeGreaterThan(1000)
  expect(findings.filter(({ code }) => code === 'undecided')).toEqual([])
})

it('gives up on hostile patterns and reports which', () => {
  const findings = lintRules((index) => ({
    actions: ['read'],
    decision: index % 2 === 0 ? 'deny' : 'allow',
    resources: [`/**/a${index}${'/*'.repeat(12)}`],
  }))

  const undecided = findings.filter(({ code }) => code === 'undecided')
  expect(undecided.length).toBeGreaterThan(RULES / 2)
})

it('reads the teams of a policy once, not once per rule', () => {
  const teams = Array.from({ length: 2000 }, (_, index) => `team ${index}`)
  const policies = Array.from({ length: 100 }, (_, place) => ({
    id: `p${place}`,
    name: `p${place}`,
    scope: { teams: teams.slice(place % 5) },
    allowlist_v0: {
      rules: Array.from({ length: 250 }, (__, index) => ({
        id: `r${index}`,
        name: `r${index}`,
        actions: ['connect:tcp'] as const,
        decision: 'allow' as const,
        resources: [`h${index}.example.com`],
      })),
    },
  }))

  const redundant = lint({ policies }).filter(({ code }) => code === 'duplicate_resource')

  // All rules except those of the first policy, which has every team.
  expect(redundant).toHaveLength(99 * 250)
})

it('bounds the rules that it checks for names left open by a deny', () => {
  const domains = Array.from({ length: 120 }, (_, index) =>
    Array(index + 1)
      .fill('a')
      .join('.'),
  )
  const policyOf = (
    id: string,
    place: number,
    decision: Rule['decision'],
    resources: string[],
  ) => ({
    id,
    name: id,
    scope: { teams: Array.from({ length: place + 1 }, (_, index) => `team ${index}`) },
    allowlist_v0: {
      rules: [{ id, name: id, actions: ['connect:tcp'] as const, decision, resources }],
    },
  })
  const policies = Array.from({ length: 50 }, (_, place) => [
    policyOf(
      `allow${place}`,
      place,
      'allow',
      domains.map((domain) => `**.${domain}`),
    ),
    policyOf(
      `deny${place}`,
      place,
      'deny',
      Array.from({ length: 50 }, (__, index) => `**.k${index}.${domains.at(-1)}`),
    ),
  ]).flat()

  expect(lint({ policies }).some(({ code }) => code === 'undecided')).toBe(true)
})

it('leaves questions undecided beyond the given steps', () => {
  const set = of(rule('a', 'allow', read, '/**/a/*/b/**/c'), rule('b', 'allow', read, '/**/a/**/c'))
  const codesOf = (maxSteps?: number) => lint(set, { maxSteps }).map(({ code }) => code)

  expect([codesOf(), codesOf(20)]).toEqual([['redundant'], ['undecided', 'undecided']])
  expect(() => codesOf(0.5)).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
})

import { lint, type Finding, type Rule } from '@palisade/policy-core'
import { expect, it } from 'vitest'

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

it('decides everything about 25,000 ordinary rules', { timeout: 60_000 }, () => {
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

it('gives up hostile patterns, and says of which', { timeout: 60_000 }, () => {
  const findings = lintRules((index) => ({
    actions: ['read'],
    decision: index % 2 === 0 ? 'deny' : 'allow',
    resources: [`/**/a${index}${'/*'.repeat(12)}`],
  }))

  const undecided = findings.filter(({ code }) => code === 'undecided')
  expect(undecided.length).toBeGreaterThan(RULES / 2)
})

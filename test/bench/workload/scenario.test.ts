import { compilePolicy, decide, type Decision } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { DOMAIN_NAMES, type DomainName } from '../../../bench/src/workload/domain.ts'
import { DOMAINS } from '../../../bench/src/workload/domains.ts'
import { createRandom } from '../../../bench/src/workload/random.ts'
import {
  createScenario,
  drawRequests,
  keysOf,
  policiesOf,
} from '../../../bench/src/workload/scenario.ts'

function draw(name: DomainName, size: number, seed = size) {
  const random = createRandom(seed)
  const scenario = createScenario(DOMAINS[name], size, random)
  const policy = compilePolicy({ policies: policiesOf(DOMAINS[name].action, scenario.resources) })
  const judge = (text: string): Decision => decide(policy, DOMAINS[name].requestFor(text))
  return { random, scenario, judge }
}

function outcomeOf({ decision, reason }: Decision): string {
  if (decision === 'allow') return 'allow'
  return reason === 'rule' ? 'deny' : reason
}

describe.each(DOMAIN_NAMES)('the scenario of %s', (name) => {
  it.each([10, 100, 2000])('has exactly %i distinct resources', (size) => {
    const { scenario } = draw(name, size)

    const patterns = scenario.resources.map(({ pattern }) => pattern)

    expect(patterns).toHaveLength(size)
    expect(new Set(patterns).size).toBe(size)
  })

  it.each([
    ['allow', 'allow'],
    ['deny', 'deny'],
    ['miss', 'default_deny'],
  ] as const)(
    'draws requests for the mix %s that the complete policy answers accordingly',
    (mix, outcome) => {
      for (const size of [10, 2000]) {
        const { random, scenario, judge } = draw(name, size)

        const outcomes = drawRequests(scenario, mix, 200, random).map((text) =>
          outcomeOf(judge(text)),
        )

        expect(new Set(outcomes)).toEqual(new Set([outcome]))
      }
    },
  )

  it('repeats five allows, a deny and four misses in every ten mixed requests', () => {
    const { random, scenario, judge } = draw(name, 100)

    const outcomes = drawRequests(scenario, 'mixed', 20, random).map((text) =>
      outcomeOf(judge(text)),
    )

    for (const ten of [outcomes.slice(0, 10), outcomes.slice(10)])
      expect(ten.toSorted()).toEqual([
        ...Array.from({ length: 5 }, () => 'allow'),
        ...Array.from({ length: 4 }, () => 'default_deny'),
        'deny',
      ])
  })

  it('draws hostile requests, some invalid and some valid', () => {
    const { random, scenario, judge } = draw(name, 100)

    const reasons = drawRequests(scenario, 'hostile', 150, random).map(judge)

    expect(reasons.some(({ reason }) => reason === 'invalid_request')).toBe(true)
    expect(reasons.some(({ reason }) => reason !== 'invalid_request')).toBe(true)
  })

  it('is the same for the same seed and differs for another', () => {
    expect(draw(name, 50, 1).scenario.resources).toEqual(draw(name, 50, 1).scenario.resources)
    expect(draw(name, 50, 1).scenario.resources).not.toEqual(draw(name, 50, 2).scenario.resources)
  })

  it('draws as many keys as resources, some of them requested', () => {
    const { random, scenario } = draw(name, 100)
    const requests = drawRequests(scenario, 'mixed', 200, random)

    const keys = keysOf(scenario, 100, requests, random)

    expect(new Set(keys).size).toBe(100)
    expect(keys).toHaveLength(100)
    expect(requests.filter((text) => keys.includes(text)).length).toBeGreaterThan(40)
  })
})

import * as fc from 'fast-check'
import type { Random } from '../../../bench/src/workload/random.ts'
import { policySets } from '../../policy-core/arbitraries/policy-set.ts'
import type { DraftRule, Family } from '../family.ts'

/** Combines small sets of the property tests, which contain rules of every kind. */
export const collected: Family = {
  name: 'collected',
  maxResources: 5000,
  draw(random, count) {
    const rules: DraftRule[] = []
    const samples = fc.sample(policySets(), {
      seed: random.integer(0x7fffffff),
      numRuns: Math.ceil(count / 8),
    })
    for (const { set } of samples)
      for (const policy of [...(set.policies ?? []), ...(set.local ?? [])])
        rules.push(...(policy.allowlist_v0?.rules ?? []).map(body))
    const [first] = samples
    const { policies: _p, local: _l, ...settings } = first?.set ?? {}
    return {
      rules: some(rules, count, random),
      settings: { ...settings, ...first?.options },
    }
  },
}

function body({ actions, decision, resources }: DraftRule): DraftRule {
  return { actions, decision, resources }
}

/** Takes consecutive rules with at most `count` resources, from a random start. */
function some(rules: readonly DraftRule[], count: number, random: Random): DraftRule[] {
  const start = random.integer(rules.length)
  const chosen: DraftRule[] = []
  let resources = 0
  for (const rule of [...rules.slice(start), ...rules.slice(0, start)]) {
    if (resources > 0 && resources + rule.resources.length > count) break
    chosen.push(rule)
    resources += rule.resources.length
  }
  return chosen
}

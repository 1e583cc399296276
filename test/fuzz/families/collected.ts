import * as fc from 'fast-check'
import type { Random } from '../../../bench/src/workload/random.ts'
import { policySets } from '../../policy-core/arbitraries/policy-set.ts'
import type { DraftRule, Family } from '../family.ts'

/** As many of the property tests' small sets as it takes, put together: all kinds of everything. */
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
    const { policies: _p, local: _l, ...surroundings } = first?.set ?? {}
    return {
      rules: some(rules, count, random),
      surroundings: { ...surroundings, ...first?.options },
    }
  },
}

function body({ actions, decision, resources }: DraftRule): DraftRule {
  return { actions, decision, resources }
}

/** At most `count` resources of them, from a place drawn by chance. */
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

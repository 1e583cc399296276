import { compilePolicy, decide } from '@palisade/policy-core'
import { single } from '../figures/range.ts'
import type { Case, CaseResult } from './case.ts'
import { copyStrings } from './measure/copy-strings.ts'
import { collectGarbage } from './measure/collect-garbage.ts'
import { DOMAINS } from '../workload/domains.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, keysOf, policiesOf } from '../workload/scenario.ts'
import { createWorstCase } from '../workload/worst-case.ts'
import { BASELINE, OURS } from './compile-case.ts'

/** Times the first compilation of a process. No other code here may call the compiler earlier. */
export function runFirstCompileCase(each: Extract<Case, { kind: 'first compile' }>): CaseResult {
  const { size } = each
  const domain = DOMAINS[each.domain]
  const random = createRandom(size)
  const scenario = createScenario(domain, size, random)
  const policies = policiesOf(domain.action, scenario.resources)
  const keys = keysOf(scenario, size, [], random) // drawing requests would compile
  const baseline = time(() => new Map(copyStrings(keys).map((key) => [key, 1])))
  const ours = time(() => compilePolicy({ policies }))
  const ratio = single(ours / baseline)
  const rows = {
    [BASELINE]: { ms: single(baseline) },
    [OURS]: { ms: single(ours), 'x new Map': ratio },
  }
  return { rows, left_out: [] }
}

/** Times the first decision of a process, after compilation. */
export function runFirstDecisionCase(each: Extract<Case, { kind: 'first decision' }>): CaseResult {
  const { policies, request } = createWorstCase(each.input)
  const policy = compilePolicy({ policies })
  const value = time(() => decide(policy, request))
  return { rows: { 'palisade decide': { ms: single(value) } }, left_out: [] }
}

/**
 * Returns the milliseconds of one call. Garbage of the scenario is collected first: otherwise V8
 * may move the scenario in memory during the call, which can take longer than the compilation.
 */
function time(work: () => object): number {
  collectGarbage()
  const start = performance.now()
  work()
  return performance.now() - start
}

import { compilePolicy, decide } from '@palisade/policy-core'
import type { Case, CaseResult, Figure } from '../case.ts'
import { copyStrings } from '../measure/copy-strings.ts'
import { collectGarbage } from '../measure/collect-garbage.ts'
import { DOMAINS } from '../workload/domains.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, keysOf, policiesOf } from '../workload/scenario.ts'
import { createWorstCase } from '../workload/worst-case.ts'
import { LIMIT, OURS } from './compile-case.ts'

/** Nothing may compile before: the first call is the one that a starting agent pays. */
export function runFirstCompileCase(each: Extract<Case, { kind: 'first compile' }>): CaseResult {
  const { size } = each
  const domain = DOMAINS[each.domain]
  const random = createRandom(size)
  const scenario = createScenario(domain, size, random)
  const policies = policiesOf(domain.action, scenario.resources)
  const keys = keysOf(scenario, size, [], random) // drawing mixed requests would compile
  const limit = time(() => new Map(copyStrings(keys).map((key) => [key, 1])))
  const ours = time(() => compilePolicy({ policies }))
  const figure = (contender: string, ms: number): Figure => ({
    ...SINGLE,
    contender,
    unit: 'us a resource, first',
    value: (ms * 1e3) / size,
    ratio: ms / limit,
  })
  return { case: each, figures: [figure(LIMIT, limit), figure(OURS, ours)], left_out: [] }
}

/** The policies are compiled; no request was decided yet. */
export function runFirstDecisionCase(each: Extract<Case, { kind: 'first decision' }>): CaseResult {
  const { policies, request } = createWorstCase(each.input)
  const policy = compilePolicy({ policies })
  const value = time(() => decide(policy, request))
  const figure: Figure = { ...SINGLE, contender: 'palisade decide', unit: 'ms, first', value }
  return { case: each, figures: [figure], left_out: [] }
}

const SINGLE = { ratio: null, spread: null, to_ours: null, rounds: 1 } as const

/**
 * Milliseconds of one call. What drawing the scenario has left is collected before: moving the
 * scenario about in memory took up to twice the time of the compilation, now and then.
 */
function time(work: () => object): number {
  collectGarbage()
  const start = performance.now()
  work()
  return performance.now() - start
}

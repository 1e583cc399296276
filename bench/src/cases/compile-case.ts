import { compilePolicy, decide, explain, type CompiledPolicy } from '@palisade/policy-core'
import type { Case, CaseResult, Figure } from '../case.ts'
import { copyStrings } from '../measure/copy-strings.ts'
import { interleave, type Lane } from '../measure/interleave.ts'
import { retainedBytesOf } from '../measure/retained-bytes.ts'
import { DOMAINS } from '../workload/domains.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, drawRequests, keysOf, policiesOf } from '../workload/scenario.ts'
import { STREAM_LENGTH } from './lanes.ts'

export const OURS = 'palisade compilePolicy'
export const BASELINE = 'new Map'

/** Below this size, unrelated garbage exceeds the measured memory and figures can be negative. */
const MIN_SIZE_FOR_MEMORY = 10_000

/** Measures warmed-up compilation, and the memory of its result. */
export function runCompileCase(each: Extract<Case, { kind: 'compile' }>): CaseResult {
  const { size } = each
  const domain = DOMAINS[each.domain]
  const random = createRandom(size)
  const scenario = createScenario(domain, size, random)
  const policies = policiesOf(domain.action, scenario.resources)
  const requests = drawRequests(scenario, 'mixed', STREAM_LENGTH, random).map(domain.requestFor)
  const keys = keysOf(scenario, size, [], random)
  const compile = (): CompiledPolicy => compilePolicy({ policies })
  const build = (): object => new Map(copyStrings(keys).map((key) => [key, 1]))
  const { figures, left_out } = interleave([lane(BASELINE, build), lane(OURS, compile)], {
    budgetMs: each.budgetMs,
    sliceMs: 2,
    warmUpMs: each.budgetMs / 5,
    maxPieceMs: 5000,
    unit: 'us a resource',
    scale: 1e-3 / size,
  })
  const memory = size < MIN_SIZE_FOR_MEMORY ? [] : measureMemory(build, compile, requests)
  return {
    case: each,
    figures: [...figures, ...memory.map((figure) => ({ ...figure, value: figure.value / size }))],
    left_out,
  }
}

function lane(contender: string, work: () => object): Lane {
  return {
    contender,
    step: 1,
    maxCount: 1000,
    prepare: () => undefined,
    work(count) {
      let made = 0
      for (let index = 0; index < count; index += 1) made += Object.keys(work()).length + 1
      return made
    },
  }
}

/** Values are total bytes. The caller divides them by the size. */
function measureMemory(
  build: () => object,
  compile: () => CompiledPolicy,
  requests: readonly object[],
): Figure[] {
  const decided = (): CompiledPolicy => {
    const policy = compile()
    for (const request of requests) decide(policy, request)
    return policy
  }
  const explained = (): CompiledPolicy => {
    const policy = decided()
    explain(policy, requests[0])
    return policy
  }
  // An unmeasured call first: the code that V8 compiles for it is not part of the policy.
  explained()
  const baseline = retainedBytesOf(build)
  const figure = (contender: string, unit: Figure['unit'], value: number): Figure => ({
    contender,
    unit,
    value,
    ratio: value / baseline,
    spread: null,
    to_ours: null,
    rounds: 1,
  })
  return [
    figure(BASELINE, 'B a resource', baseline),
    figure(OURS, 'B a resource', retainedBytesOf(compile)),
    figure(OURS, 'B a resource, decided', retainedBytesOf(decided)),
    figure(OURS, 'B a resource, explained', retainedBytesOf(explained)),
  ]
}

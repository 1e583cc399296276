import { compilePolicy, decide, explain, type CompiledPolicy } from '@palisade/policy-core'
import { single, type Range } from '../figures/range.ts'
import type { Case, CaseResult } from './case.ts'
import { copyStrings } from './measure/copy-strings.ts'
import { interleave, type Lane } from './measure/interleave.ts'
import { retainedBytesOf } from './measure/retained-bytes.ts'
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
  const { rows, left_out } = interleave([lane(BASELINE, build), lane(OURS, compile)], {
    budgetMs: each.budgetMs,
    sliceMs: 2,
    warmUpMs: each.budgetMs / 5,
    maxPieceMs: 5000,
    column: 'us a resource',
    scale: 1e-3 / size,
    ratio: 'x new Map',
  })
  if (size < MIN_SIZE_FOR_MEMORY) return { rows, left_out }
  const perResource = (bytes: number): Range => single(bytes / size)
  const { built, compiled, decided, explained } = measureMemory(build, compile, requests)
  const memory = {
    'B a resource': perResource(compiled),
    'B, decided': perResource(decided),
    'B, explained': perResource(explained),
  }
  return {
    rows: {
      [BASELINE]: { ...rows[BASELINE], 'B a resource': perResource(built) },
      [OURS]: { ...rows[OURS], ...memory },
    },
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

/** Returns bytes of the whole policy, because parts are built when they are first needed. */
function measureMemory(
  build: () => object,
  compile: () => CompiledPolicy,
  requests: readonly object[],
) {
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
  return {
    built: retainedBytesOf(build),
    compiled: retainedBytesOf(compile),
    decided: retainedBytesOf(decided),
    explained: retainedBytesOf(explained),
  }
}

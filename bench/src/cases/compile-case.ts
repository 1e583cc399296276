import { compilePolicy } from '@palisade/policy-core'
import type { Case, CaseResult, Figure } from '../case.ts'
import { copyStrings } from '../measure/copy-strings.ts'
import { interleave, type Lane } from '../measure/interleave.ts'
import { DOMAINS } from '../workload/domains.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, keysOf, policiesOf } from '../workload/scenario.ts'

const OURS = 'palisade compilePolicy'
const LIMIT = 'new Map'

/** Below this, other garbage is larger than what is weighed (measured: even negative figures). */
const MIN_SIZE_TO_WEIGH = 10_000

/** The work of building, for the first time and again, and the memory of what was built. */
export function runCompileCase(each: Extract<Case, { kind: 'compile' }>): CaseResult {
  const { size } = each
  const domain = DOMAINS[each.domain]
  const random = createRandom(size)
  const scenario = createScenario(domain, size, random)
  const policies = policiesOf(domain.action, scenario.resources)
  const keys = keysOf(scenario, size, [], random) // drawing requests would compile, and be the first
  const compile = (): object => compilePolicy({ policies })
  const build = (): object => new Map(copyStrings(keys).map((key) => [key, 1]))
  // The first call must come before any other: it is the one that a starting agent pays.
  const first = [time(build), time(compile)] as const
  const { figures, left_out } = interleave([lane(LIMIT, build), lane(OURS, compile)], {
    budgetMs: each.budgetMs,
    sliceMs: 2,
    warmUpMs: each.budgetMs / 5,
    maxPieceMs: 5000,
    unit: 'us a resource',
    scale: 1e-3 / size,
  })
  return {
    case: each,
    figures: [
      ...pair('us a resource, first', (first[0] * 1e3) / size, (first[1] * 1e3) / size),
      ...figures,
      ...(size < MIN_SIZE_TO_WEIGH
        ? []
        : pair('B a resource', weigh(build) / size, weigh(compile) / size)),
    ],
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

/** Milliseconds of one call. */
function time(work: () => object): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

/** Bytes, on the heap and in buffers, that are held for as long as the result is. */
function weigh(work: () => object): number {
  const before = memoryInUse()
  const held = [work()]
  const after = memoryInUse()
  held.length = 0
  return after - before
}

function memoryInUse(): number {
  if (globalThis.gc === undefined)
    throw new Error('memory cannot be weighed; start node with `--expose-gc`')
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Two single readings, ours divided by the limit's. */
function pair(unit: Figure['unit'], limit: number, ours: number): Figure[] {
  const single = { unit, spread: null, rounds: 1 }
  return [
    { contender: LIMIT, value: limit, ratio: 1, ...single },
    { contender: OURS, value: ours, ratio: ours / limit, ...single },
  ]
}

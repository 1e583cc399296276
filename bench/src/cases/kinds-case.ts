import { compilePolicy } from '@palisade/policy-core'
import type { Case, CaseResult } from '../case.ts'
import { createDecide } from '../contenders/ours.ts'
import { interleave } from '../measure/interleave.ts'
import { DOMAINS } from '../workload/domains.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, drawRequests, policiesOf } from '../workload/scenario.ts'
import { createLane, CYCLES, decisionTiming, STREAM_LENGTH } from './lanes.ts'

/** The most characters of one stream. Long texts get shorter streams, to bound memory. */
const STREAM_CHARACTERS = 4e6

/** Slices of one kind are a multiple of this number of requests. */
const STEP = 10

/**
 * Times each kind of hostile input separately. The baseline is our own time for the mixed stream.
 */
export function runKindsCase(each: Extract<Case, { kind: 'kinds' }>): CaseResult {
  const domain = DOMAINS[each.domain]
  const random = createRandom(each.size)
  const scenario = createScenario(domain, each.size, random)
  const policy = compilePolicy({ policies: policiesOf(domain.action, scenario.resources) })
  const { answer } = createDecide(policy, domain.requestFor)
  const mixed = drawRequests(scenario, 'mixed', STREAM_LENGTH, random)
  const kinds = domain.hostile.map(({ name, make }) => {
    const draw = (): string => {
      const zone = random.pick(scenario.zones)
      return make(domain.drawInside(random, zone), zone.root)
    }
    const room = Math.floor(STREAM_CHARACTERS / draw().length / STEP) * STEP
    const count = Math.max(STEP, Math.min(STREAM_LENGTH, room))
    return { name, requests: Array.from({ length: count }, draw) }
  })
  const lanes = [
    createLane({ name: 'mixed', answer }, mixed, 'fresh', CYCLES.mixed),
    ...kinds.map(({ name, requests }) => createLane({ name, answer }, requests, 'fresh', STEP)),
  ]
  return { case: each, ...interleave(lanes, decisionTiming(each.budgetMs)) }
}

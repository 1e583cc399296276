import { compilePolicy } from '@palisade/policy-core'
import type { Case, CaseResult } from './case.ts'
import { createMapGet } from './contenders/map-get.ts'
import { createDecide } from './contenders/ours.ts'
import { createPeers } from './contenders/peers.ts'
import { interleave } from './measure/interleave.ts'
import { DOMAINS } from '../workload/domains.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, drawRequests, keysOf, policiesOf } from '../workload/scenario.ts'
import { createLane, CYCLES, decisionTiming, STREAM_LENGTH } from './lanes.ts'

/** How many requests compare a peer's answers with ours: few enough to keep the check quick. */
const SAMPLE = { few: 1000, many: 100, fromSize: 1000 } as const

/** Times decisions of one domain. */
export async function runDecideCase(each: Extract<Case, { kind: 'decide' }>): Promise<CaseResult> {
  const { size, mix, budgetMs } = each
  const domain = DOMAINS[each.domain]
  const random = createRandom(size)
  const scenario = createScenario(domain, size, random)
  const requests = drawRequests(scenario, mix, STREAM_LENGTH, random)
  const policy = compilePolicy({ policies: policiesOf(domain.action, scenario.resources) })
  const ours = createDecide(policy, domain.requestFor)
  const baseline = createMapGet(keysOf(scenario, size, requests, random))
  const sample = requests.slice(0, size >= SAMPLE.fromSize ? SAMPLE.many : SAMPLE.few)
  const peers = each.peers
    ? await createPeers(each.domain, scenario.resources, ours.answer, sample)
    : { contenders: [], left_out: [] }
  const lanes = [baseline, ours, ...peers.contenders].map((contender) =>
    createLane(contender, requests, CYCLES[mix]),
  )
  const { rows, left_out } = interleave(lanes, { ...decisionTiming(budgetMs), ours: ours.name })
  return { rows, left_out: [...peers.left_out, ...left_out] }
}

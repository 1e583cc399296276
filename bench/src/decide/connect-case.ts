import { compilePolicy, decide } from '@palisade/policy-core'
import type { Case, CaseResult } from './case.ts'
import { createMapGet } from './contenders/map-get.ts'
import { interleave } from './measure/interleave.ts'
import { addresses } from '../workload/addresses.ts'
import { hosts } from '../workload/hosts.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, drawRequests, keysOf, policiesOf } from '../workload/scenario.ts'
import { createPairLane, CYCLES, decisionTiming, STREAM_LENGTH, type PairAnswer } from './lanes.ts'

/**
 * Times decisions about a name with its resolved address, as a proxy asks after resolution. Half of
 * the rules are about names, half about addresses. The baseline looks up the name alone.
 */
export function runConnectCase(each: Extract<Case, { kind: 'connect' }>): CaseResult {
  // Not every seed gives a scenario of ten rules in which each outcome occurs.
  const random = createRandom(each.size + 1)
  const half = Math.ceil(each.size / 2)
  const named = createScenario(hosts, half, random)
  const ranged = createScenario(addresses, half, random)
  const names = drawRequests(named, 'mixed', STREAM_LENGTH, random)
  const resolved = drawRequests(ranged, 'mixed', STREAM_LENGTH, random)
  const ranges = policiesOf(addresses.action, ranged.resources)
  const policy = compilePolicy({
    policies: [
      ...policiesOf(hosts.action, named.resources),
      ...ranges.map((of) => ({ ...of, id: `${of.id}_ranges` })),
    ],
  })
  const baseline = createMapGet(keysOf(named, each.size, names, random))
  const ours: PairAnswer = (host, address) =>
    decide(policy, { action: hosts.action, host, port: 443, address }).decision === 'allow' ? 1 : 0
  const lanes = [
    createPairLane(baseline.name, baseline.answer, [names, resolved], CYCLES.mixed),
    createPairLane('palisade decide', ours, [names, resolved], CYCLES.mixed),
  ]
  return interleave(lanes, decisionTiming(each.budgetMs))
}

import { compilePolicy } from '@palisade/policy-core'
import { DOMAIN_NAMES, type Case, type CaseResult } from '../case.ts'
import { createMapGet } from '../contenders/map-get.ts'
import { createDecide, createExplain } from '../contenders/ours.ts'
import { interleave } from '../measure/interleave.ts'
import { DOMAINS } from '../workload/domains.ts'
import { createRandom } from '../workload/random.ts'
import { createScenario, drawRequests, keysOf, policiesOf } from '../workload/scenario.ts'
import { createLane, CYCLES, decisionTiming, STREAM_LENGTH } from './lanes.ts'

/** Half of the policies are about hosts, three tenths about paths, the rest about addresses. */
const SHARES = { hosts: 0.5, addresses: 0.2, paths: 0.3 } as const

/** Compiles every domain into one policy and alternates between requests of all three. */
export function runOrganizationCase(each: Extract<Case, { kind: 'organization' }>): CaseResult {
  const random = createRandom(each.policies * each.rulesPerPolicy)
  const parts = DOMAIN_NAMES.map((name) => {
    const size = Math.round(each.policies * SHARES[name]) * each.rulesPerPolicy
    const scenario = createScenario(DOMAINS[name], size, random)
    const requests = drawRequests(scenario, 'mixed', Math.ceil(STREAM_LENGTH / 3), random)
    return { scenario, requests, keys: keysOf(scenario, size, requests, random) }
  })
  const policies = parts.flatMap(({ scenario }) =>
    policiesOf(scenario.domain.action, scenario.resources, each.rulesPerPolicy),
  )
  const requests = Array.from({ length: STREAM_LENGTH }, (_, index) => {
    return parts[index % parts.length]?.requests[Math.floor(index / parts.length)] ?? ''
  })
  const create = each.call === 'decide' ? createDecide : createExplain
  const contenders = [
    createMapGet(parts.flatMap(({ keys }) => keys)),
    create(compilePolicy({ policies }), requestFor),
  ]
  const lanes = contenders.map((contender) =>
    createLane(contender, requests, 'fresh', CYCLES.mixed * parts.length),
  )
  return { case: each, ...interleave(lanes, decisionTiming(each.budgetMs)) }
}

/** Only paths begin with `/` in scenarios. */
function requestFor(text: string): object {
  return (text.startsWith('/') ? DOMAINS.paths : DOMAINS.hosts).requestFor(text)
}

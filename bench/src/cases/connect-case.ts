import { compilePolicy, decide, type Policy } from '@palisade/policy-core'
import type { Case, CaseResult } from '../case.ts'
import { createMapGet } from '../contenders/map-get.ts'
import { interleave } from '../measure/interleave.ts'
import { addresses } from '../workload/addresses.ts'
import { hosts } from '../workload/hosts.ts'
import { createRandom, type Random } from '../workload/random.ts'
import { createScenario, drawRequests, keysOf, policiesOf } from '../workload/scenario.ts'
import { createPairLane, CYCLES, decisionTiming, STREAM_LENGTH, type PairAnswer } from './lanes.ts'

/** Rules, and requests that consist of two texts. */
interface Connects {
  readonly policies: readonly Policy[]
  readonly names: readonly string[]
  readonly seconds: readonly string[]
  readonly keys: readonly string[]
  /** Builds the request from a name and its second text. */
  readonly requestFor: (name: string, second: string) => object
}

/** Times decisions on complete connect requests. The baseline looks up the name alone. */
export function runConnectCase(each: Extract<Case, { kind: 'connect' }>): CaseResult {
  // Not every seed gives a scenario of ten rules in which each outcome occurs.
  const random = createRandom(each.size + 1)
  const draw = each.form === 'ports' ? drawPorts : drawResolved
  const { policies, names, seconds, keys, requestFor } = draw(each.size, random)
  const policy = compilePolicy({ policies })
  const baseline = createMapGet(keys)
  const ours: PairAnswer = (name, second) =>
    decide(policy, requestFor(name, second)).decision === 'allow' ? 1 : 0
  const lanes = [
    createPairLane(baseline.name, baseline.answer, [names, seconds], CYCLES.mixed),
    createPairLane('palisade decide', ours, [names, seconds], CYCLES.mixed),
  ]
  return { case: each, ...interleave(lanes, decisionTiming(each.budgetMs)) }
}

/**
 * A name with its resolved address, as a proxy asks after resolution. Half of the rules are about
 * names, half about addresses.
 */
function drawResolved(size: number, random: Random): Connects {
  const half = Math.ceil(size / 2)
  const named = createScenario(hosts, half, random)
  const ranged = createScenario(addresses, half, random)
  const names = drawRequests(named, 'mixed', STREAM_LENGTH, random)
  return {
    policies: [
      ...policiesOf(hosts.action, named.resources),
      ...policiesOf(addresses.action, ranged.resources).map((policy) => ({
        ...policy,
        id: `${policy.id}_ranges`,
      })),
    ],
    names,
    seconds: drawRequests(ranged, 'mixed', STREAM_LENGTH, random),
    keys: keysOf(named, size, names, random),
    requestFor: (host, address) => ({ action: hosts.action, host, port: 443, address }),
  }
}

/** Every second name rule has a port, and every third request is for port 8443. */
function drawPorts(size: number, random: Random): Connects {
  const named = createScenario(hosts, size, random)
  const names = drawRequests(named, 'mixed', STREAM_LENGTH, random)
  const resources = named.resources.map((each, index) =>
    index % 2 === 0
      ? { ...each, pattern: `${each.pattern}:${index % 4 === 0 ? 443 : 8443}` }
      : each,
  )
  return {
    policies: policiesOf(hosts.action, resources),
    names,
    seconds: names.map((_, index) => (index % 3 === 0 ? '8443' : '443')),
    keys: keysOf(named, size, names, random),
    requestFor: (host, second) => ({
      action: hosts.action,
      host,
      port: second === '8443' ? 8443 : 443,
    }),
  }
}

import { compilePolicy, decide, type CompiledPolicy, type Policy } from '@palisade/policy-core'
import { drawHostile, takeTurn, type Domain, type Mix, type Resource, type Zone } from './domain.ts'
import type { Random } from './random.ts'

/** Resources of one domain, in zones from which requests are drawn. */
export interface Scenario {
  readonly domain: Domain
  readonly resources: readonly Resource[]
  readonly zones: readonly Zone[]
}

type Outcome = 'allow' | 'deny' | 'miss'

/** Creates exactly `size` resources. The second always denies, so that every outcome can occur. */
export function createScenario(domain: Domain, size: number, random: Random): Scenario {
  const zones: Zone[] = []
  let count = 0
  while (count < size) {
    const zone = domain.drawZone(random, zones.length)
    const kept = zone.resources.slice(0, size - count).map((resource, index): Resource => {
      if (zones.length > 0 || index > 1) return resource
      return { ...resource, decision: index === 0 ? 'allow' : 'deny' }
    })
    zones.push({ ...zone, resources: kept })
    count += kept.length
  }
  return { domain, zones, resources: zones.flatMap((zone) => zone.resources) }
}

/** Builds policies of the API with one resource per rule and `rulesPerPolicy` rules per policy. */
export function policiesOf(
  action: Domain['action'],
  resources: readonly Resource[],
  rulesPerPolicy = 250,
): Policy[] {
  const rules = resources.map(({ pattern, decision }, index) => ({
    id: `rule_${index}`,
    name: `rule ${index}`,
    actions: [action],
    decision,
    resources: [pattern],
  }))
  return Array.from({ length: Math.ceil(rules.length / rulesPerPolicy) }, (_, index) => ({
    id: `pol_${action}_${index}`,
    name: `policy ${action} ${index}`,
    allowlist_v0: { rules: rules.slice(index * rulesPerPolicy, (index + 1) * rulesPerPolicy) },
  }))
}

/**
 * The mixed stream follows a fixed cycle. A slow contender is timed on few requests, and a scan
 * that stops at its first match takes very different times for a match and a miss.
 */
const MIXED: readonly (readonly [number, Outcome])[] = [
  [3, 'allow'],
  [2, 'miss'],
  [1, 'deny'],
  [2, 'allow'],
  [2, 'miss'],
]

/** Draws `count` request texts of a mix. Throws when the scenario lacks a request of one kind. */
export function drawRequests(
  scenario: Scenario,
  mix: Mix,
  count: number,
  random: Random,
): readonly string[] {
  const { domain, zones } = scenario
  if (mix === 'hostile')
    return Array.from({ length: count }, (_, turn) =>
      drawHostile(domain, random, random.pick(zones), turn),
    )
  const outcomeOf = createOutcomes(domain)
  return Array.from({ length: count }, (_, turn) => {
    const wanted = mix === 'mixed' ? takeTurn(MIXED, turn) : mix
    if (wanted === 'miss' && random.next() < 0.5) return domain.drawOutside(random)
    for (let attempt = 0; attempt < 5000; attempt += 1) {
      const zone = random.pick(zones)
      const text = domain.drawRequest(random, zone)
      if (outcomeOf(zone, text) === wanted) return text
    }
    throw new Error(`no ${wanted} request was found for ${domain.name}; draw another seed`)
  })
}

/** Evaluates a request by its zone alone, because resources of other zones cannot match it. */
function createOutcomes(domain: Domain): (zone: Zone, text: string) => Outcome {
  const compiled = new Map<Zone, CompiledPolicy>()
  return (zone, text) => {
    const policy =
      compiled.get(zone) ?? compilePolicy({ policies: policiesOf(domain.action, zone.resources) })
    compiled.set(zone, policy)
    const { decision, reason } = decide(policy, domain.requestFor(text))
    if (decision === 'allow') return 'allow'
    return reason === 'rule' ? 'deny' : 'miss'
  }
}

/**
 * Draws `size` distinct keys for the baseline `Map`. Up to half of them are requests of the stream,
 * so that lookups hit and miss. The others are texts of the same kind.
 */
export function keysOf(
  { zones, domain }: Scenario,
  size: number,
  requests: readonly string[],
  random: Random,
): string[] {
  const keys = new Set(requests.slice(0, Math.ceil(size / 2)))
  for (let attempt = 0; keys.size < size; attempt += 1) {
    const known = attempt < 2 * size
    keys.add(known ? domain.drawRequest(random, random.pick(zones)) : domain.drawOutside(random))
  }
  return [...keys]
}

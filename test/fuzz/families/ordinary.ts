import {
  DOMAIN_NAMES,
  drawHostile,
  HOSTILE_CYCLE,
  type DomainName,
} from '../../../bench/src/workload/domain.ts'
import { DOMAINS } from '../../../bench/src/workload/domains.ts'
import type { Random } from '../../../bench/src/workload/random.ts'
import { createScenario, type Scenario } from '../../../bench/src/workload/scenario.ts'
import { connectRules, pathRules, type DraftRule, type Family } from '../family.ts'

/** Realistic policies: the scenarios of the benchmarks, one domain at a time. */
const ofOneDomain = (name: DomainName): Family => ({
  name: `ordinary ${name}`,
  maxResources: 50_000,
  draw(random, count) {
    const scenario = createScenario(DOMAINS[name], count, random)
    return { rules: rulesOf(random, scenario), ask: () => ask(random, scenario) }
  },
})

/** All three domains in one set. */
const ofAllDomains: Family = {
  name: 'ordinary organization',
  maxResources: 50_000,
  draw(random, count) {
    const scenarios = DOMAIN_NAMES.map((name) =>
      createScenario(DOMAINS[name], Math.ceil(count / 3), random),
    )
    return {
      rules: scenarios.flatMap((scenario) => rulesOf(random, scenario)),
      ask: () => askWithAddress(random, scenarios),
    }
  },
}

export const ORDINARY_FAMILIES: readonly Family[] = [...DOMAIN_NAMES.map(ofOneDomain), ofAllDomains]

function rulesOf(random: Random, { domain, resources }: Scenario): DraftRule[] {
  const patterns = resources.map(({ pattern }) => pattern)
  const rules = domain.name === 'paths' ? pathRules : connectRules
  return rules(random, patterns).map((rule, index) => ({
    ...rule,
    decision: resources[index]?.decision ?? 'deny',
  }))
}

function ask(random: Random, { domain, zones }: Scenario): object {
  const zone = random.pick(zones)
  const text = random.weighted([
    [6, () => domain.drawRequest(random, zone)],
    [1, () => domain.drawOutside(random)],
    [2, () => drawHostile(domain, random, zone, random.integer(HOSTILE_CYCLE))],
  ])()
  return domain.requestFor(text)
}

/** Asks for a name together with its resolved address, as a proxy does after resolution. */
function askWithAddress(random: Random, scenarios: readonly Scenario[]): object {
  const [hosts, addresses] = scenarios
  const request = ask(random, random.pick(scenarios))
  if (hosts === undefined || addresses === undefined || random.next() < 0.6) return request
  const { host } = ask(random, addresses) as { host: string }
  return { ...ask(random, hosts), address: host }
}

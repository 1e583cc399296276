import {
  isFilesystemAction,
  type CompileOptions,
  type Policy,
  type PolicySet,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { createRandom, type Random } from '../../bench/src/workload/random.ts'
import { requestChoice, requestFrom } from '../policy-core/arbitraries/request.ts'
import { FAMILIES } from './families.ts'
import type { Draft, DraftRule, PolicySettings } from './family.ts'
import { drawSize, sizeClassOf, type SizeClass } from './size-class.ts'
import type { Asked } from './find-difference.ts'

/** A policy set with its requests. The seed reproduces all of it. */
export interface FuzzCase {
  readonly seed: number
  readonly family: string
  readonly sizeClass: SizeClass
  readonly resources: number
  readonly set: PolicySet
  readonly options: CompileOptions
  readonly asked: readonly Asked[]
}

/**
 * Budget of a case: resources times requests times effort. The reference scans every resource for
 * every request.
 */
const WORK = 2_000_000
const REQUESTS = { least: 12, most: 60 } as const

/**
 * One set in 32 gets many more requests. An index that grows while it answers, and is discarded
 * when it becomes too large, can only fail on a late request.
 */
const LONG = { share: 1 / 32, requests: 3000 } as const

/** On larger sets, and late in long ones, only every eighth request is explained. */
const EXPLAIN_ALL = { resources: 1000, requests: 60 } as const

/** Draws the case of a seed, a non-negative integer. */
export function drawCase(seed: number): FuzzCase {
  const random = createRandom(seed)
  const sizeClass = sizeClassOf(seed)
  const family = random.pick(FAMILIES.filter(({ maxResources }) => maxResources >= sizeClass.from))
  const size = Math.min(family.maxResources, drawSize(sizeClass, random))
  const draft = family.draw(random, size)
  const { caseSensitive, ...settings } = { ...drawSettings(random), ...draft.settings }
  const set = { ...settings, ...policiesOf(random, draft.rules) }
  const resources = draft.rules.reduce((sum, rule) => sum + rule.resources.length, 0)
  const most = random.next() < LONG.share ? LONG.requests : REQUESTS.most
  const affordable = Math.round(WORK / Math.max(1, resources * (family.effort ?? 1)))
  const count = Math.max(REQUESTS.least, Math.min(most, affordable))
  const asked = drawRequests(random, set, draft, count).map((request, index) => ({
    request,
    explained:
      index % 8 === 0 || (resources <= EXPLAIN_ALL.resources && index < EXPLAIN_ALL.requests),
  }))
  return { seed, family: family.name, sizeClass, resources, set, options: { caseSensitive }, asked }
}

function drawSettings({ pick }: Random): PolicySettings {
  return {
    governed: pick([undefined, undefined, true, false]),
    home: pick([undefined, '/a', '/home/dev']),
    machine_addresses: pick([[], [], ['10.0.0.1', '2001:db8::1']]),
    resolve_unlisted_names: pick([undefined, undefined, false, true]),
    revision: pick([undefined, null, 7]),
    caseSensitive: pick([undefined, undefined, true, false]),
  }
}

/**
 * Groups the rules into policies of one domain each. The order of the ids differs from that of the
 * rules.
 */
function policiesOf(
  random: Random,
  rules: readonly DraftRule[],
): Required<Pick<PolicySet, 'policies' | 'local'>> {
  const perPolicy = 1 + random.integer(250)
  const localShare = random.pick([0, 0, 0.1, 0.5])
  const open = new Map<string, DraftRule[]>()
  const policies: Policy[] = []
  const local: Policy[] = []
  const close = (key: string, held: readonly DraftRule[]): void => {
    if (held.length === 0) return
    const into = key.startsWith('local') ? local : policies
    into.push(policyOf(random, key, policies.length + local.length, held))
    open.set(key, [])
  }
  for (const rule of rules) {
    const isPath = isFilesystemAction(rule.actions[0])
    const key = `${random.next() < localShare ? 'local' : 'org'} ${isPath ? 'paths' : 'network'}`
    const held = [...(open.get(key) ?? []), rule]
    open.set(key, held)
    if (held.length === perPolicy) close(key, held)
  }
  for (const [key, held] of open) close(key, held)
  return { policies, local }
}

function policyOf(
  random: Random,
  key: string,
  number: number,
  rules: readonly DraftRule[],
): Policy {
  const scattered = (place: number): string => `${random.integer(0xffff).toString(36)}_${place}`
  return {
    id: `pol_${scattered(number)}`,
    name: `${key} ${number}`,
    allowlist_v0: {
      rules: rules.map((rule, place) => ({
        id: `rule_${scattered(place)}`,
        name: `rule ${place}`,
        ...rule,
      })),
    },
  }
}

/** Half of the requests come from the family's own `ask`, the others are near a rule of the set. */
function drawRequests(
  random: Random,
  set: PolicySet,
  { ask, rules }: Draft,
  count: number,
): unknown[] {
  const choices = fc.sample(requestChoice(), { seed: random.integer(0x7fffffff), numRuns: count })
  return choices.map((choice) => {
    if (ask !== undefined && random.next() < 0.5) return ask()
    if ('hostile' in choice) return choice.hostile
    return requestFrom(set, { ...choice, rule: random.integer(rules.length + 1) })
  })
}

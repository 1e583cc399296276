import { describePathCost, domainOf, MAX_PATH_COST, pathCost } from '@palisade/policy-core'
import { invalidArgument } from '../http/api-error.ts'
import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import type { KnownRules, Rules } from './known-rules.ts'
import { listHeads } from './policy-lookup.ts'

/** Policies whose cost is kept; of more all is forgotten and found out anew. */
const MAX_KNOWN_COSTS = 10_000

/** What a write changes. */
export interface ChangedPolicies {
  readonly org: string
  /** As they will be. */
  readonly changed: readonly Pick<PolicyRecord, 'id' | 'rules'>[]
  readonly deleted?: readonly Pick<PolicyRecord, 'id'>[]
}

/**
 * Throws 400, naming a pattern, where all path patterns of the organization together could make one
 * decision cost too much: the policies of some user are among them, whatever teams he is in. A write
 * that does not raise the cost is taken all the same, so that an organization beyond the limit
 * can be changed and mended.
 */
export async function requirePathRoom(
  known: KnownRules,
  reader: StoreReader,
  { org, changed, deleted = [] }: ChangedPolicies,
): Promise<void> {
  const rules = changed.flatMap((policy) => starred(policy.rules))
  if (rules.length === 0) return
  const replaced = new Set([...changed, ...deleted].map(({ id }) => id))
  const find = (head: PolicyHeadRecord): Promise<number> => costOf(known, reader, head)
  let others = 0
  let before = 0
  for (const head of await listHeads(reader, org)) {
    const cost = await find(head)
    if (replaced.has(head.id)) before += cost
    else others += cost
  }
  const after = changed.reduce((sum, policy) => sum + pathCost(starred(policy.rules)), 0)
  if (others + after <= MAX_PATH_COST || after <= before) return
  // Policies share much of what they cost, so that the sum is only the first thing to look at.
  const stored = (await reader.policies.listWithRules(org)).filter(({ id }) => !replaced.has(id))
  const together = pathCost([...rules, ...stored.flatMap((policy) => starred(policy.rules))])
  if (together <= MAX_PATH_COST) return
  throw invalidArgument(describePathCost(together, mostStarred(rules)), { reason: 'path_cost' })
}

/** Whether one of its path patterns costs more than a name of a path does. */
export function hasStars(rule: RuleRecord): boolean {
  return starred([rule]).length > 0
}

async function costOf(
  { pathCosts }: KnownRules,
  reader: StoreReader,
  { org, id, revision }: PolicyHeadRecord,
): Promise<number> {
  const known = pathCosts.get(id)
  if (known?.revision === revision) return known.cost
  const policy = await reader.policies.find(org, id)
  const cost = policy === null ? 0 : pathCost(starred(policy.rules))
  if (pathCosts.size >= MAX_KNOWN_COSTS) pathCosts.clear()
  pathCosts.set(id, { revision, cost })
  return cost
}

/** The rules on paths, with those of their patterns that cost more than a name of a path does. */
function starred(rules: Rules): Pick<RuleRecord, 'actions' | 'resources'>[] {
  const found: Pick<RuleRecord, 'actions' | 'resources'>[] = []
  for (const { actions, resources } of rules) {
    const action = actions[0]
    if (action === undefined || domainOf(action) !== 'filesystem') continue
    const patterns = resources.filter((text) => text.includes('*'))
    if (patterns.length > 0) found.push({ actions, resources: patterns })
  }
  return found
}

function mostStarred(rules: readonly Pick<RuleRecord, 'resources'>[]): string {
  const stars = (text: string): number => text.split('*').length
  return rules
    .flatMap(({ resources }) => resources)
    .reduce((worst, text) => (stars(text) > stars(worst) ? text : worst))
}

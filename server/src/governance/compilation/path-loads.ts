import {
  domainOf,
  pathLoad,
  pathLoadInSteps,
  sumPathLoads,
  type PathLoad,
} from '@palisade/policy-core'
import { nextTurn } from '../../platform/next-turn.ts'
import { createLruCache } from '../../platform/lru-cache.ts'
import type { PolicyHeadRecord, RuleRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { knownRule, type KnownRules, type Rules } from '../known-rules.ts'
import { readAsOf, type FindPolicy } from '../policy-lookup.ts'

/** Shares of all organizations together; each takes some hundred bytes. */
const MAX_SHARES = 250_000
/** Steps between two turns; a step covers some thousand characters. */
const STEPS_A_TURN = 4

const NO_LOAD = pathLoad([])

/**
 * Caches the path load of policies by id and revision: their share in the cost of a decision, which
 * a write needs for all policies of its organization. Only committed policies may be kept, because
 * the revision of a rolled back write is assigned again.
 */
export interface KnownPathLoads {
  find(head: PolicyRevision): PathLoad | null
  keep(head: PolicyRevision, load: PathLoad): void
}

type PolicyRevision = Pick<PolicyHeadRecord, 'id' | 'revision'>

export function createKnownPathLoads(maxShares = MAX_SHARES): KnownPathLoads {
  const cache = createLruCache<{ readonly revision: number; readonly load: PathLoad }>(
    maxShares,
    ({ load }) => load.shares.size + 1,
  )
  return {
    find({ id, revision }) {
      const known = cache.find(id)
      return known?.revision === revision ? known.load : null
    },
    keep: ({ id, revision }, load) => cache.keep(id, { revision, load }),
  }
}

/** Tells whether the rule has a path pattern with `*`; only those add to the cost of a decision. */
export function hasPathWildcards({
  actions,
  resources,
}: Pick<RuleRecord, 'actions' | 'resources'>): boolean {
  const [action] = actions
  if (action === undefined || domainOf(action) !== 'filesystem') return false
  return resources.some((text) => text.includes('*'))
}

/** Computes the load of rules that compile, in turns. A known rule is not computed again. */
export async function readPathLoad(known: KnownRules, rules: Rules): Promise<PathLoad> {
  const loads: PathLoad[] = []
  for (const rule of rules) if (hasPathWildcards(rule)) loads.push(await readRuleLoad(known, rule))
  return loads.length === 0 ? NO_LOAD : sumPathLoads(loads)
}

export async function readRuleLoad(known: KnownRules, rule: RuleRecord): Promise<PathLoad> {
  if (!hasPathWildcards(rule)) return NO_LOAD
  const found = knownRule(known, rule)
  if (found.pathLoad !== null) return found.pathLoad
  const steps = pathLoadInSteps([rule])
  for (let taken = 1; ; taken += 1) {
    const step = steps.next()
    if (step.done === true) {
      found.pathLoad = step.value
      return step.value
    }
    if (taken % STEPS_A_TURN === 0) await nextTurn()
  }
}

/** Caches of findings about rules and of path loads of policies. */
export interface PathLoadDeps {
  readonly knownRules: KnownRules
  readonly pathLoads: KnownPathLoads
}

/** Returns the loads of policies; `find` reads the policies whose load is unknown. */
export async function findPathLoads(
  { knownRules, pathLoads }: PathLoadDeps,
  heads: readonly PolicyHeadRecord[],
  find: FindPolicy,
): Promise<PathLoad[]> {
  const loads: PathLoad[] = []
  for (const head of heads) {
    const policy = pathLoads.find(head) ?? (await find(head))
    if (policy === null) continue
    loads.push('rules' in policy ? await readPathLoad(knownRules, policy.rules) : policy)
  }
  return loads
}

/** Like `findPathLoads` for committed policies, read one by one. Omits policies that changed. */
export async function readCommittedLoads(
  deps: PathLoadDeps & { readonly store: Pick<Store, 'read'> },
  heads: readonly PolicyHeadRecord[],
): Promise<PathLoad[]> {
  const { store } = deps
  for (const head of heads) {
    if (deps.pathLoads.find(head) !== null) continue
    const policy = await readAsOf(store, head)
    if (policy !== null)
      deps.pathLoads.keep(head, await readPathLoad(deps.knownRules, policy.rules))
    await nextTurn()
  }
  return findPathLoads(deps, heads, (head) => readAsOf(store, head))
}

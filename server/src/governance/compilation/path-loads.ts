import {
  domainOf,
  pathLoad,
  pathLoadInSteps,
  sumPathLoads,
  type PathLoad,
} from '@palisade/policy-core'
import { nextTurn } from '../../platform/next-turn.ts'
import { createRecent } from '../../platform/recent.ts'
import type { PolicyHeadRecord, RuleRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { knownRule, type KnownRules, type Rules } from '../known-rules.ts'
import { readAsOf, type FindPolicy } from '../policy-lookup.ts'

/** Of all organizations together; one of a policy takes some hundred bytes. */
const MAX_SHARES = 250_000
/** Each is of some thousand characters. */
const STEPS_A_TURN = 4

const NO_LOAD = pathLoad([])

/**
 * What the path patterns of policies add to the cost of a decision, by id and revision: a write has
 * to know that of all others of its organization. Kept only of what is committed, because a
 * revision that is undone is given again.
 */
export interface KnownPathLoads {
  find(head: PolicyRevision): PathLoad | null
  keep(head: PolicyRevision, load: PathLoad): void
}

type PolicyRevision = Pick<PolicyHeadRecord, 'id' | 'revision'>

export function createKnownPathLoads(maxShares = MAX_SHARES): KnownPathLoads {
  const recent = createRecent<{ readonly revision: number; readonly load: PathLoad }>(
    maxShares,
    ({ load }) => load.shares.size + 1,
  )
  return {
    find({ id, revision }) {
      const known = recent.find(id)
      return known?.revision === revision ? known.load : null
    },
    keep: ({ id, revision }, load) => recent.keep(id, { revision, load }),
  }
}

/** Whether one of its path patterns adds anything to the cost of a decision. */
export function hasPathStars({
  actions,
  resources,
}: Pick<RuleRecord, 'actions' | 'resources'>): boolean {
  const [action] = actions
  if (action === undefined || domainOf(action) !== 'filesystem') return false
  return resources.some((text) => text.includes('*'))
}

/** Reads the load of rules that compile, in turns; each rule once. */
export async function readPathLoad(known: KnownRules, rules: Rules): Promise<PathLoad> {
  const loads: PathLoad[] = []
  for (const rule of rules) if (hasPathStars(rule)) loads.push(await readRuleLoad(known, rule))
  return loads.length === 0 ? NO_LOAD : sumPathLoads(loads)
}

export async function readRuleLoad(known: KnownRules, rule: RuleRecord): Promise<PathLoad> {
  if (!hasPathStars(rule)) return NO_LOAD
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

/** Remembered rules and loads of policies. */
export interface PathLoadDeps {
  readonly knownRules: KnownRules
  readonly pathLoads: KnownPathLoads
}

/** The loads of policies, those that are not known as `find` reads them. */
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

/**
 * The same of policies that are committed, one read at a time; those that changed since are left
 * out.
 */
export async function readCommittedLoads(
  { store, ...deps }: PathLoadDeps & { readonly store: Pick<Store, 'read'> },
  heads: readonly PolicyHeadRecord[],
): Promise<PathLoad[]> {
  for (const head of heads) {
    if (deps.pathLoads.find(head) !== null) continue
    const policy = await readAsOf(store, head)
    if (policy !== null)
      deps.pathLoads.keep(head, await readPathLoad(deps.knownRules, policy.rules))
    await nextTurn()
  }
  return findPathLoads(deps, heads, (head) => readAsOf(store, head))
}

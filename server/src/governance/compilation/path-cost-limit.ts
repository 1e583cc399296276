import {
  describePathCost,
  MAX_PATH_COST,
  pathCost,
  sumPathLoads,
  type PathLoad,
} from '@palisade/policy-core'
import { authorize } from '../../identity/authorize.ts'
import { ApiError, invalidArgument } from '../../platform/api-error.ts'
import type { PolicyRecord, RuleRecord } from '../../store/records.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import type { PolicyCall } from '../governance-call.ts'
import {
  findPathLoads,
  hasPathWildcards,
  readCommittedLoads,
  readPathLoad,
  readRuleLoad,
  type PathLoadDeps,
} from './path-loads.ts'
import { listHeads } from '../../store/list-heads.ts'

/** Path loads of an organization's policies before and after a write. */
export interface PathChange {
  /** Loads of unchanged policies. */
  readonly others: readonly PathLoad[]
  /** Loads of written and deleted policies, before and after. */
  readonly before: readonly PathLoad[]
  readonly after: readonly PathLoad[]
  /** Load of the written rules; a refusal names one of their patterns. */
  readonly written: PathLoad
}

/**
 * Throws 400, naming the most expensive pattern, when the path patterns of an organization together
 * exceed the cost limit of one decision. The policies of any user are a subset of these. A write
 * that does not raise the cost is accepted, so that excessive policies of an older server can be
 * repaired.
 */
export function requirePathCost(
  { others, before, after, written }: PathChange,
  fieldOf: (pattern: string) => string | undefined = () => undefined,
): void {
  const all = [...others, ...after]
  // Policies share classes of patterns, so the sum of their costs is an upper bound.
  if (all.reduce((sum, load) => sum + pathCost(load), 0) <= MAX_PATH_COST) return
  const cost = pathCost(sumPathLoads(all))
  if (cost <= MAX_PATH_COST || cost <= pathCost(sumPathLoads([...others, ...before]))) return
  const pattern = written.dearest ?? ''
  throw invalidArgument(describePathCost(pattern, cost), {
    field: fieldOf(pattern),
    reason: 'path_cost',
  })
}

/** A written rule and its policy. */
export interface WrittenRule {
  /** The stored policy, before the write. */
  readonly policy: PolicyRecord
  readonly rule: RuleRecord
}

/**
 * Applies `requirePathCost` to a rule that is added to its policy or replaces the rule of the same
 * id. Returns the new load of the policy.
 */
export async function requireRulePathCost(
  deps: PathLoadDeps,
  reader: StoreReader,
  { policy, rule }: WrittenRule,
): Promise<PathLoad> {
  const { knownRules } = deps
  const { org, id, rules } = policy
  const before = await readPathLoad(knownRules, rules)
  const isNew = rules.every((other) => other.id !== rule.id)
  const written = await readRuleLoad(knownRules, rule)
  if (isNew && !hasPathWildcards(rule)) return before
  const loads = [written]
  if (isNew) loads.push(before)
  else
    for (const other of rules)
      if (other.id !== rule.id) loads.push(await readRuleLoad(knownRules, other))
  const after = sumPathLoads(loads)
  if (!hasPathWildcards(rule)) return after
  const heads = (await listHeads(reader, org)).filter((head) => head.id !== id)
  const others = await findPathLoads(deps, heads, (head) => reader.policies.find(org, head.id))
  requirePathCost(
    { others, before: [before], after: [after], written },
    (pattern) => `resources[${rule.resources.indexOf(pattern)}]`,
  )
  return after
}

/**
 * Computes unknown path loads ahead of the transaction, so that other writers do not wait for it,
 * one policy at a time, and only for a body that may have a path with `*`. Refusals are ignored
 * here, because the write authorizes the caller again.
 */
export async function preloadPathLoads(
  deps: PathLoadDeps & { readonly store: Pick<Store, 'read'> },
  { principal, org, body }: Pick<PolicyCall, 'principal' | 'org' | 'body'>,
): Promise<void> {
  const { buffer, byteOffset, byteLength } = body.bytes
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  const has = (text: string): boolean => bytes.includes(text)
  if (!has('*') || (!has('"/') && !has('"~'))) return
  try {
    const heads = await deps.store.read(async (reader) => {
      await authorize(reader, principal, org, 'policies:write')
      return listHeads(reader, org)
    })
    await readCommittedLoads(deps, heads)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
  }
}

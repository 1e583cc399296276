import { notFound } from '../platform/api-error.ts'
import type { Work } from '../work/work-budget.ts'
import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../store/records.ts'
import type { Store, StoreReader } from '../store/store.ts'

/** Finds a policy by id. Throws 404, also for an id of another organization. */
export async function findPolicy(
  reader: StoreReader,
  org: string,
  policyId: string,
): Promise<PolicyRecord> {
  const policy = await reader.policies.find(org, policyId)
  if (policy === null) throw notFound('policy not found')
  return policy
}

/** Finds a rule by id. Throws 404. */
export function findRule(policy: PolicyRecord, ruleId: string): RuleRecord {
  const rule = policy.rules.find(({ id }) => id === ruleId)
  if (rule === undefined) throw notFound('rule not found')
  return rule
}

/** Finds the policy of a head. Resolves to null when the policy has changed since. */
export type FindPolicy = (head: PolicyHeadRecord) => Promise<PolicyRecord | null>

/** Reads policies one at a time. Returns null when `find` returns null for one of them. */
export async function readInTurns(
  heads: readonly PolicyHeadRecord[],
  find: FindPolicy,
  work: Pick<Work, 'turn'>,
): Promise<PolicyRecord[] | null> {
  const policies: PolicyRecord[] = []
  for (const head of heads) {
    const policy = await find(head)
    if (policy === null) return null
    policies.push(policy)
    await work.turn()
  }
  return policies
}

/**
 * Reads the policy of a head from a snapshot of its own. Returns null when its revision, which
 * changes with name, teams and rules, is another one.
 */
export async function readAsOf(
  store: Pick<Store, 'read'>,
  { org, id, revision }: PolicyHeadRecord,
): Promise<PolicyRecord | null> {
  const policy = await store.read((reader) => reader.policies.find(org, id))
  return policy?.revision === revision ? policy : null
}

import { notFound } from '../http/api-error.ts'
import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'

/** The policy with the id, or 404; an id of another organization is unknown here. */
export async function findPolicy(
  reader: StoreReader,
  org: string,
  policyId: string,
): Promise<PolicyRecord> {
  const policy = await reader.policies.find(org, policyId)
  if (policy === null) throw notFound('policy not found')
  return policy
}

/** The rule with the id, or 404. */
export function findRule(policy: PolicyRecord, ruleId: string): RuleRecord {
  const rule = policy.rules.find(({ id }) => id === ruleId)
  if (rule === undefined) throw notFound('rule not found')
  return rule
}

/** All policies without their rules, by ascending id. */
export async function listHeads(reader: StoreReader, org: string): Promise<PolicyHeadRecord[]> {
  return reader.policies.list(org, { afterId: '', limit: await reader.policies.count(org) })
}

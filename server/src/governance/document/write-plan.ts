import type { Work } from '../../work/work-budget.ts'
import type { PolicyRecord } from '../../store/records.ts'
import type { StoreWriter } from '../../store/store.ts'
import type { PolicyPlan } from './plan-changes.ts'
import { hasSameRules, isSameList } from './same-rules.ts'

/** Writes the changes of a plan. `writer` must be that of a single transaction. */
export async function writePlan(
  writer: StoreWriter,
  plan: PolicyPlan,
  work: Pick<Work, 'turn'>,
): Promise<void> {
  for (const { org, id } of plan.deleted) {
    await writer.policies.delete(org, id)
    await work.turn()
  }
  for (const { old, policy } of plan.updated) {
    if (!isSameList(old.teams, policy.teams) || old.mode !== policy.mode)
      await writer.policies.update({ ...policy, mode: policy.mode })
    if (!hasSameRules(old.rules, policy.rules)) await replaceRules(writer, policy)
    await work.turn()
  }
  for (const { policy } of plan.created) {
    const { rules: _rules, revision: _revision, ...head } = policy
    await writer.policies.insert(head)
    if (policy.rules.length > 0) await replaceRules(writer, policy)
    await work.turn()
  }
}

async function replaceRules(writer: StoreWriter, policy: PolicyRecord): Promise<void> {
  const { org, id: policyId, updated_at, rules } = policy
  await writer.policies.replaceRules({ org, policyId, updated_at }, rules)
}

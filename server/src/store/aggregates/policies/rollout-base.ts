import type { PolicyRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import type { WriteCache } from '../../sql/write-cache.ts'

/**
 * To be awaited before a policy changes or goes: an open rollout keeps the policies it began with.
 */
export type KeepBase = (org: string, policyId: string) => Promise<void>

/**
 * Copies a policy before the first change of it within a rollout. Copying all policies at the start
 * would be one commit of 40 MB.
 */
export function createKeepBase(
  connection: Connection,
  find: (org: string, policyId: string) => Promise<PolicyRecord | null>,
  { openRollouts }: Pick<WriteCache, 'openRollouts'>,
): KeepBase {
  const findOpen = connection.prepare<{ id: string; base_revision: number }>(
    'SELECT id, base_revision FROM rollouts WHERE org = ? AND ended_at IS NULL',
  )
  const insert = connection.prepare(
    `INSERT INTO rollout_policies (rollout_id, policy_id, policy) VALUES (?, ?, ?)
     ON CONFLICT (rollout_id, policy_id) DO NOTHING`,
    'governance',
  )
  return async (org, policyId) => {
    const open = await openRollouts.read(org, async () => ({
      rollout: (await findOpen.get(org)) ?? null,
    }))
    if (open === null || open.rollout === null) return
    const { id, base_revision } = open.rollout
    const policy = await find(org, policyId)
    if (policy === null || policy.revision > base_revision) return
    await insert.run(id, policyId, JSON.stringify(policy))
  }
}

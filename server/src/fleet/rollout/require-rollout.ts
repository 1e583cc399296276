import { conflict, notFound } from '../../platform/api-error.ts'
import type { RolloutRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import { stepRollout, type RolloutStep } from './rollout-machine.ts'

/** Throws 404. */
export async function requireRollout(
  reader: StoreReader,
  org: string,
  id: string,
): Promise<RolloutRecord> {
  const rollout = await reader.rollouts.find(org, id)
  if (rollout === null) throw notFound('rollout not found')
  return rollout
}

/** The rollout after the step; throws 409 for one that its state does not allow. */
export function requireStep(rollout: RolloutRecord, step: RolloutStep, now: Date): RolloutRecord {
  const stepped = stepRollout(rollout, step, now.toISOString())
  if (!stepped.ok) throw conflict(stepped.message)
  return { ...rollout, ...stepped.rollout }
}

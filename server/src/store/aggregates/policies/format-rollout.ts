import type { Rollout } from '@palisade/protocol'
import type { RolloutRecord } from '../../distribution-records.ts'

export function formatRollout(rollout: RolloutRecord): Rollout {
  const { id, state, stages, stage, stage_at, max_rejected, wait_seconds, base_revision } = rollout
  const { created_at, created_by, paused_at: at, paused_by: by, pause_reason, ended_at } = rollout
  return {
    id,
    state,
    stages: [...stages],
    stage,
    stage_at,
    max_rejected,
    wait_seconds,
    base_revision,
    created_at,
    created_by,
    paused: at === null || by === null ? null : { at, by, reason: pause_reason },
    ended_at,
  }
}

import type { RejectionLimit, RolloutMachines } from '@palisade/protocol'
import type { RolloutProgress, RolloutStep } from './rollout-machine.ts'

/** The facts that decide the next step of a rollout. */
export interface StageFacts {
  readonly machines: Omit<RolloutMachines, 'held_back' | 'never_seen'>
  /** `Author.actor` of the rollout itself. */
  readonly actor: string
  /** When the policies last became others while it was watched, in milliseconds since 1970. */
  readonly settledMs: number
  readonly nowMs: number
}

/**
 * The step that a running rollout takes by itself; null for no step. It pauses when failures exceed
 * the limit. A rollout that goes on by itself needs three conditions: the stage and the policies
 * have stood for the wait, half of the machines have their policies, and machines that refuse them,
 * or poll without a report about them, are within the limit. So a single lying machine counts only
 * as one failure.
 */
export function nextRolloutStep(
  rollout: RolloutProgress,
  { machines, actor, settledMs, nowMs }: StageFacts,
): RolloutStep | null {
  if (rollout.state !== 'running') return null
  const { devices, applied, rejected, pending } = machines
  const { max_rejected, wait_seconds, stage, stages } = rollout
  if (isBeyond(max_rejected, rejected, devices))
    return { kind: 'pause', by: actor, reason: describeRejections(machines, max_rejected) }

  if (wait_seconds === null) return null
  const waitedMs = nowMs - Math.max(Date.parse(rollout.stage_at), settledMs)
  if (waitedMs < wait_seconds * 1000) return null
  if (applied === 0 || applied * 2 < devices) return null
  if (isBeyond(max_rejected, rejected + pending, devices)) return null
  if (stage < stages.length) return { kind: 'advance', to: stage + 1 }
  // Finishes only if no machine gets other policies by it.
  return stages.some(({ percent }) => percent === 100) ? { kind: 'finish' } : null
}

function isBeyond(limit: RejectionLimit, rejected: number, devices: number): boolean {
  if (limit.machines !== undefined) return rejected > limit.machines
  return rejected * 100 > (limit.percent ?? 0) * devices
}

function describeRejections(
  { devices, rejected, rejected_by_code }: StageFacts['machines'],
  limit: RejectionLimit,
): string {
  const most = limit.machines === undefined ? `${limit.percent ?? 0} %` : `${limit.machines}`
  const codes = rejected_by_code.slice(0, 3).map((each) => `${each.devices} ${each.code}`)
  return `${rejected} of ${devices} machines reject it, at most ${most} may: ${codes.join(', ')}`
}

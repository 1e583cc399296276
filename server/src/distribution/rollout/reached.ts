import { createHmac } from 'node:crypto'
import type { DeviceRecord } from '../../store/distribution-records.ts'
import type { RolloutProgress } from './rollout-machine.ts'

const WHOLE = 2 ** 32

/** Which rollout it is, and what it is drawn by. */
export interface Draw {
  readonly org: string
  readonly rollout: string
  /** Of the organization, unknown to machines; the one that names of views are made by. */
  readonly secret: Uint8Array
}

/**
 * Tells whether the machine is within a stage that is reached. Its labels are what administrators
 * have set; its place among the shares is drawn under a secret, for each rollout anew, so that
 * nobody can choose it and the same machines are not the first every time.
 */
export function isReached(
  { stages, stage }: Pick<RolloutProgress, 'stages' | 'stage'>,
  draw: Draw,
  { id, labels }: Pick<DeviceRecord, 'id' | 'labels'>,
): boolean {
  const reached = stages.slice(0, stage)
  if (reached.some(({ label }) => label !== undefined && labels.includes(label))) return true
  const share = Math.max(0, ...reached.map(({ percent = 0 }) => percent))
  // The draw costs a hash, which the first stages and the last need not pay.
  if (share === 0 || share === 100) return share === 100
  return drawShare(draw, id) * 100 < share
}

/** From 0 to 1, exclusive; always the same for one machine in one rollout. */
export function drawShare({ org, rollout, secret }: Draw, deviceId: string): number {
  // An array of three with an object in it: no name of a view is made from that.
  const text = JSON.stringify([{ draw: rollout }, org, deviceId])
  return createHmac('sha256', secret).update(text).digest().readUInt32BE(0) / WHOLE
}

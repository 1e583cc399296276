import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { DeviceRecord, RolloutRecord } from '../store/distribution-records.ts'

const WHOLE = 2 ** 32

/** Names the rollout, and holds the key that places machines in it. */
export interface Draw {
  readonly org: string
  readonly rollout: string
  readonly key: KeyObject
}

/**
 * The draw of a rollout. `secret` is the organization's, unknown to machines; names of views are
 * made by it too. The key is made once, because importing it costs more than a machine's HMAC.
 */
export function createDraw(org: string, rollout: string, secret: Uint8Array): Draw {
  return { org, rollout, key: createSecretKey(secret) }
}

/**
 * Tells whether the machine is within a stage that is reached. Labels are set by administrators.
 * The position among the shares is drawn under a secret, for each rollout anew, so that a machine
 * cannot choose it and the same machines are not always first.
 */
export function isReached(
  { stages, stage }: Pick<RolloutRecord, 'stages' | 'stage'>,
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
export function drawShare({ org, rollout, key }: Draw, deviceId: string): number {
  // An array of three with an object in it: no name of a view is made from that.
  const text = JSON.stringify([{ draw: rollout }, org, deviceId])
  return createHmac('sha256', key).update(text).digest().readUInt32BE(0) / WHOLE
}

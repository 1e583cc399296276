import type { DeviceRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import { findViewSecret } from '../../views/content/view-id.ts'
import { createDraw, isReached } from '../../views/rollout-stage.ts'

/** Whether a machine is kept from the policies as they are; null while no rollout is open. */
export async function readHeldMachines(
  reader: StoreReader,
  org: string,
): Promise<((device: Pick<DeviceRecord, 'id' | 'labels'>) => boolean) | null> {
  const rollout = await reader.rollouts.findOpen(org)
  if (rollout === null) return null
  // Before there is a secret, no machine has asked for a view.
  const secret = (await findViewSecret(reader, org)) ?? new Uint8Array()
  const draw = createDraw(org, rollout.id, secret)
  return (device) => !isReached(rollout, draw, device)
}

import type { DeviceRecord, RolloutRecord } from '../store/distribution-records.ts'
import type { Store, StoreReader } from '../store/store.ts'
import { createDraw, isReached } from './rollout-stage.ts'
import type { ViewRef } from './inspect-view.ts'
import { ensureViewSecret, findViewSecret, formatViewId } from './content/view-id.ts'
import type { ViewSource } from './content/view-content.ts'

/** The inputs that decide which view a device is assigned to, as of one snapshot of the store. */
export interface AssignmentInputs {
  readonly device: DeviceRecord
  /** The teams of its user. */
  readonly teams: readonly string[]
  /** The one that has not ended. */
  readonly rollout: RolloutRecord | null
  /** Null before the first view of the organization was made. */
  readonly secret: Uint8Array | null
}

export async function readAssignmentInputs(
  reader: StoreReader,
  device: DeviceRecord,
): Promise<AssignmentInputs> {
  const { org, username } = device
  return {
    device,
    teams: username === null ? [] : await reader.teams.listOfUser(org, username),
    rollout: await reader.rollouts.findOpen(org),
    secret: await findViewSecret(reader, org),
  }
}

/** The view of the device; makes the secret of the organization where it is missing. */
export async function assignView(
  deps: { readonly store: Store; readonly random: (bytes: number) => Uint8Array },
  inputs: AssignmentInputs,
): Promise<ViewRef> {
  const { org } = inputs.device
  const secret = inputs.secret ?? (await ensureViewSecret(deps.store, org, deps.random))
  return assignedView(secret, inputs)
}

/** The same without writing; null where the secret is missing. */
export function findAssignedView(inputs: AssignmentInputs): ViewRef | null {
  const { secret } = inputs
  return secret === null ? null : assignedView(secret, inputs)
}

function assignedView(secret: Uint8Array, { device, teams, rollout }: AssignmentInputs): ViewRef {
  const { org } = device
  const isHeldBack =
    rollout !== null && !isReached(rollout, createDraw(org, rollout.id, secret), device)
  return viewRefOf(secret, org, { teams, base: isHeldBack ? baseOf(rollout) : null })
}

export function viewRefOf(secret: Uint8Array, org: string, { teams, base }: ViewSource): ViewRef {
  return { org, id: formatViewId(secret, org, { teams, base }), teams, base }
}

export function baseOf({ id, base_revision }: RolloutRecord): NonNullable<ViewSource['base']> {
  return { rollout: id, revision: base_revision }
}

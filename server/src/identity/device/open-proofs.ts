import type { Store } from '../../store/store.ts'
import { createDeviceTokens, loadDeviceTokenKey, type DeviceTokens } from './device-tokens.ts'
import { createReplayGuard } from './replay-guard.ts'
import { createProofs, type Proofs } from './require-proof.ts'

/** Settings of device tokens and DPoP proofs. */
export interface ProofSettings {
  /** The origin under which machines reach the server; null to take it from the request. */
  readonly publicUrl: string | null
  readonly deviceTokenMinutes: number
}

/** Creates the device tokens and the DPoP proofs by which machines authenticate. */
export async function openProofs(deps: {
  readonly settings: ProofSettings
  readonly store: Store
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}): Promise<{ readonly tokens: DeviceTokens; readonly proofs: Proofs }> {
  const { store, now, random } = deps
  const { publicUrl, deviceTokenMinutes } = deps.settings
  const key = await loadDeviceTokenKey(store, random)
  const tokens = createDeviceTokens({ key, lifeSeconds: deviceTokenMinutes * 60, now })
  const proofs = createProofs({
    replays: createReplayGuard(now),
    enrolments: createReplayGuard(now),
    tokens,
    now,
    publicUrl,
  })
  return { tokens, proofs }
}

import type { DeviceView } from '@palisade/protocol'
import type { Store, StoreWriter } from '../../store/store.ts'
import type { ViewPlace } from './inspect-view.ts'
import type { OpenKey } from './opened-keys.ts'
import type { RoleKey } from './role-key.ts'
import { createRecent } from '../recent.ts'
import { signDeviceView } from './sign-device-view.ts'
import { ensureTrust } from './trust.ts'

const MAX_SIGNERS = 10_000

/** What an organization signs with. */
interface Signer {
  /** `Store.generation` from before the store was asked. */
  readonly generation: number
  readonly key: RoleKey
  readonly lifeMs: number
}

/** Signs which view is a device's own, as of now. */
export type Assign = (
  deviceId: string,
  user: string | null,
  place: ViewPlace,
) => Promise<DeviceView>

/**
 * The store is asked for the key again after anything was written: a fleet that fetches one change asks for
 * thousands of assignments in between.
 */
export function createAssignments(deps: {
  readonly store: Store
  readonly now: () => Date
  readonly openKey: OpenKey
}): Assign {
  const { store, now, openKey } = deps
  const signers = createRecent<Signer>(MAX_SIGNERS, () => 1)
  const makeKey = (org: string): Promise<RoleKey> =>
    store.transaction((writer) => makeTargetsKey(writer, org, now()))

  async function readSigner(org: string): Promise<Signer> {
    const generation = store.generation()
    const { keys, distribution } = await store.read(async (reader) => ({
      keys: await reader.trust.keys(org),
      distribution: await reader.organizations.distribution(org),
    }))
    const known = keys.find(({ role }) => role === 'targets')
    const key = known === undefined ? await makeKey(org) : openKey(known)
    return { generation, key, lifeMs: distribution.fresh_for_seconds * 1000 }
  }

  async function findSigner(org: string): Promise<Signer> {
    const known = signers.find(org)
    if (known?.generation === store.generation()) return known
    const signer = await readSigner(org)
    signers.keep(org, signer)
    return signer
  }

  return async (deviceId, user, place) => {
    const { key, lifeMs } = await findSigner(place.org)
    const content = { org: place.org, device_id: deviceId, user, view: place.id }
    return signDeviceView(content, key, now(), lifeMs)
  }
}

async function makeTargetsKey(writer: StoreWriter, org: string, now: Date): Promise<RoleKey> {
  return (await ensureTrust(writer, org, now)).keys.targets
}

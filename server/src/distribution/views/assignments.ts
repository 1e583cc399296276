import type { DeviceView } from '@palisade/protocol'
import type { Store, StoreWriter } from '../../store/store.ts'
import type { ViewPlace } from './inspect-view.ts'
import type { OpenKey } from './opened-keys.ts'
import type { RoleKey } from './role-key.ts'
import { signDeviceView } from './sign-device-view.ts'
import { ensureTrust } from './trust.ts'

/** Signs which view is a device's own, as of now. */
export type Assign = (
  deviceId: string,
  user: string | null,
  place: ViewPlace,
) => Promise<DeviceView>

export function createAssignments(deps: {
  readonly store: Store
  readonly now: () => Date
  readonly openKey: OpenKey
}): Assign {
  const { store, now, openKey } = deps
  const makeKey = (org: string): Promise<RoleKey> =>
    store.transaction((writer) => makeTargetsKey(writer, org, now()))

  return async (deviceId, user, place) => {
    const { keys, distribution } = await store.read(async (reader) => ({
      keys: await reader.trust.keys(place.org),
      distribution: await reader.organizations.distribution(place.org),
    }))
    const known = keys.find(({ role }) => role === 'targets')
    const key = known === undefined ? await makeKey(place.org) : openKey(known)
    const content = { org: place.org, device_id: deviceId, user, view: place.id }
    return signDeviceView(content, key, now(), distribution.fresh_for_seconds * 1000)
  }
}

async function makeTargetsKey(writer: StoreWriter, org: string, now: Date): Promise<RoleKey> {
  return (await ensureTrust(writer, org, now)).keys.targets
}

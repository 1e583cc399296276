import type { Store, StoreReader } from '../store/store.ts'
import { authenticateDevice } from '../identity/device/authenticate-device.ts'
import { parseDeviceToken } from '../identity/device/device-authorization.ts'
import type { DeviceTokens } from '../identity/device/device-tokens.ts'
import { readGrants, type AssignmentState } from './assignment-versions.ts'
import { assignView, readAssignmentInputs } from './assigned-view.ts'
import type { ViewRef } from './inspect-view.ts'
import { createLruCache } from '../platform/lru-cache.ts'

/** More than twice a fleet of 100,000. */
const MAX_DEVICES = 250_000

/** A device whose token is good, and where it belongs. */
export interface DeviceSession {
  /** `Store.generation` of accounts, from before the store was asked. */
  readonly generation: number
  /** The end of the device token. */
  readonly expiresMs: number
  readonly deviceId: string
  readonly user: string | null
  readonly viewRef: ViewRef
  /** The newest one that was kept, which may be of a former view; null before the first. */
  readonly assignment: AssignmentState | null
}

export interface DeviceSessions {
  /** Without asking the store: null for a token that was not seen since accounts were changed. */
  find(token: string): DeviceSession | null
  /** Throws ApiError 401 or 403. */
  admit(authorizationHeader: string | undefined): Promise<DeviceSession>
}

/**
 * Devices by their tokens. The store is asked once, and again after any commit that may change the
 * answer.
 *
 * The key is the text of a token, not its hash. A `Map` compares two texts only when their hashes
 * are equal, and those hashes depend on a seed of this process, so timing reveals no part of a
 * token. An attacker who can read this memory can also read the key that signs tokens.
 */
export function createDeviceSessions(deps: {
  readonly store: Store
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly tokens: Pick<DeviceTokens, 'read'>
}): DeviceSessions {
  const { store, now } = deps
  const devices = createLruCache<DeviceSession>(MAX_DEVICES, () => 1)

  function find(token: string): DeviceSession | null {
    const device = devices.find(token)
    if (device?.generation !== store.generation('accounts')) return null
    return device.expiresMs > now().getTime() ? device : null
  }

  async function admit(authorizationHeader: string | undefined): Promise<DeviceSession> {
    const token = parseDeviceToken(authorizationHeader)
    const known = find(token)
    if (known !== null) return known
    const generation = store.generation('accounts')
    const { device, expiresMs, inputs, assignment } = await store.read((reader) =>
      readDevice(reader, deps, token),
    )
    const { id: deviceId, username: user } = device
    const viewRef = await assignView(deps, inputs)
    const session = { generation, expiresMs, deviceId, user, viewRef, assignment }
    devices.keep(token, session)
    return session
  }

  return { find, admit }
}

async function readDevice(
  reader: StoreReader,
  { tokens, now }: { readonly tokens: Pick<DeviceTokens, 'read'>; readonly now: () => Date },
  token: string,
) {
  const authenticated = await authenticateDevice(reader, tokens, token)
  const { device } = authenticated
  const { id } = device
  const inputs = await readAssignmentInputs(reader, device)
  const kept = (await reader.deviceAssignments.list([id])).get(id)
  const assignment =
    kept === undefined ? null : { ...kept, grants: await readGrants(reader, device, now()) }
  return { ...authenticated, inputs, assignment }
}

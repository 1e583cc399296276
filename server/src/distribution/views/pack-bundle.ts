import { BUNDLE_FORMAT, MAX_BUNDLE_BYTES, type Bundle } from '@palisade/protocol'
import { conflict, notFound } from '../../http/api-error.ts'
import type { Store } from '../../store/store.ts'
import type { Assign } from './assignments.ts'
import { placeDevice, readWhereabouts } from './device-place.ts'
import { secondsOf, startOfKept } from './due.ts'
import { readViewFiles } from './view-files.ts'
import type { ViewPublisher } from './view-publisher.ts'

export interface PackDeps {
  readonly store: Store
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly publisher: Pick<ViewPublisher, 'current'>
  /** Signs which view is the device's own. */
  readonly assign: Assign
}

/**
 * All that a device would fetch now, for one that does not reach this server. Throws ApiError 404
 * for a device that is not there, 409 for one that was revoked and for what is too large.
 */
export async function packBundle(deps: PackDeps, org: string, deviceId: string): Promise<Bundle> {
  const { store } = deps
  const whereabouts = await store.read(async (reader) => {
    const device = await reader.devices.find(org, deviceId)
    if (device === null) throw notFound('device not found')
    const { username } = device
    // As with its token: it ends with the membership of its user.
    const isOut = username !== null && (await reader.memberships.find(org, username)) === null
    if (device.revoked_at !== null || isOut)
      throw conflict('the device was revoked; enrol the machine again')
    return readWhereabouts(reader, device)
  })
  const place = await placeDevice(deps, whereabouts)
  const timestamp = (await deps.publisher.current(place)).body
  const device = { deviceId, user: whereabouts.device.username, place, assignment: null }
  // Always anew: the machine cannot say which version it has, which a restored store may have forgotten.
  const asked = { heldVersion: secondsOf(deps.now()), nonce: null }
  const assignment = JSON.stringify(await deps.assign(device, asked))
  const since = startOfKept(deps.now())
  const files = await store.read((reader) => readViewFiles(reader, place, { timestamp, since }))
  const bundle = { format: BUNDLE_FORMAT, assignment, files } as const
  if (Buffer.byteLength(JSON.stringify(bundle)) > MAX_BUNDLE_BYTES)
    throw conflict(`the policies are longer than a bundle file may be, ${MAX_BUNDLE_BYTES} bytes`)
  return bundle
}

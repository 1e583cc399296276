import { BUNDLE_FORMAT, MAX_BUNDLE_BYTES, type Bundle, type DeviceView } from '@palisade/protocol'
import { conflict, notFound } from '../../http/api-error.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import { placeDevice, readWhereabouts } from './device-place.ts'
import { startOfKept } from './due.ts'
import type { ViewPlace } from './inspect-view.ts'
import type { ViewPublisher } from './view-publisher.ts'

export interface PackDeps {
  readonly store: Store
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly publisher: Pick<ViewPublisher, 'current'>
  /** Signs which view is the device's own. */
  readonly assign: (deviceId: string, user: string | null, place: ViewPlace) => Promise<DeviceView>
}

/** The members of signed metadata that name the next file; it was written by this server. */
interface Linked {
  readonly signed: {
    readonly meta: Readonly<Record<string, { readonly version: number }>>
    readonly targets: Readonly<Record<string, { readonly hashes: { readonly sha256: string } }>>
  }
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
  const assignment = JSON.stringify(await deps.assign(deviceId, whereabouts.device.username, place))
  const files = await store.read((reader) =>
    readFiles(reader, place, timestamp, startOfKept(deps.now())),
  )
  const bundle = { format: BUNDLE_FORMAT, assignment, files } as const
  if (Buffer.byteLength(JSON.stringify(bundle)) > MAX_BUNDLE_BYTES)
    throw conflict(`the policies are longer than a bundle file may be, ${MAX_BUNDLE_BYTES} bytes`)
  return bundle
}

async function readFiles(
  reader: StoreReader,
  { org, id }: ViewPlace,
  timestamp: string,
  since: number,
): Promise<Record<string, string>> {
  const files: Record<string, string> = { 'metadata/timestamp.json': timestamp }
  const keep = (name: string, body: Uint8Array | null): string => {
    // Whoever changes a policy right now has replaced it.
    if (body === null) throw conflict('the policies were changed meanwhile; ask again')
    return (files[name] = Buffer.from(body).toString())
  }
  for (let version = 1, isLast = false; !isLast; version += 1) {
    const root = await reader.trust.root(org, version)
    isLast = root === null
    if (root !== null) keep(`metadata/${version}.root.json`, root.body)
  }
  const snapshotName = `${read(timestamp).meta['snapshot.json']?.version}.snapshot.json`
  const snapshot = keep(
    `metadata/${snapshotName}`,
    await reader.views.file(org, id, snapshotName, since),
  )
  const targetsName = `${read(snapshot).meta['targets.json']?.version}.targets.json`
  const targets = keep(
    `metadata/${targetsName}`,
    await reader.views.file(org, id, targetsName, since),
  )
  for (const [name, { hashes }] of Object.entries(read(targets).targets)) {
    const path = name.replace('/', `/${hashes.sha256}.`)
    keep(`targets/${path}`, await reader.views.document(org, id, path, since))
  }
  return files
}

function read(text: string): Linked['signed'] {
  return (JSON.parse(text) as Linked).signed
}

import { BUNDLE_FORMAT, MAX_BUNDLE_BYTES } from '@palisade/protocol'
import { concatInTurns } from '../work/concat-in-turns.ts'
import { conflict, notFound } from '../platform/api-error.ts'
import type { Work } from '../work/work-budget.ts'
import type { Store, StoreReader } from '../store/store.ts'
import type { Assign } from './assignments.ts'
import { assignView, readAssignmentInputs, type AssignmentInputs } from './assigned-view.ts'
import { secondsOf, startOfKept } from './publication/renewal.ts'
import { listViewFiles } from './view-files.ts'
import type { ViewPublisher } from './publication/view-publisher.ts'

export interface PackDeps {
  readonly store: Store
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly publisher: Pick<ViewPublisher, 'current'>
  /** Signs which view is the device's own. */
  readonly assign: Assign
}

/**
 * All that a device would fetch now, as the JSON of a bundle, for one that does not reach this
 * server. Views may have 96 MB, so one file at a time is read and put into words, and others have
 * their turns in between. Throws ApiError 404 for a device that is not there, 409 for a revoked one
 * and for a bundle that is too large.
 */
export async function packBundle(
  deps: PackDeps,
  { org, deviceId }: { readonly org: string; readonly deviceId: string },
  work: Pick<Work, 'turn'>,
): Promise<Buffer> {
  const { store } = deps
  const inputs = await store.read((reader) => readLive(reader, org, deviceId))
  const viewRef = await assignView(deps, inputs)
  const timestamp = (await deps.publisher.current(viewRef)).body
  const device = { deviceId, user: inputs.device.username, viewRef, assignment: null }
  // Always anew: the machine cannot say which version it has, which a restored store may have
  // forgotten.
  const asked = { heldVersion: secondsOf(deps.now()), nonce: null }
  const assignment = JSON.stringify(await deps.assign(device, asked))
  const wanted = { timestamp, since: startOfKept(deps.now()) }
  const quoted = JSON.stringify(assignment)
  const texts = [
    Buffer.from(`{"format":"${BUNDLE_FORMAT}","assignment":${quoted},"files":{`),
    Buffer.from('}}'),
  ]
  let length = texts.reduce((sum, text) => sum + text.byteLength, 0)
  for await (const { name, body } of listViewFiles((read) => store.read(read), viewRef, wanted)) {
    const comma = texts.length > 2 ? ',' : ''
    const text = Buffer.from(`${comma}${JSON.stringify(name)}:${JSON.stringify(body.toString())}`)
    length += text.byteLength
    if (length > MAX_BUNDLE_BYTES)
      throw conflict(`the policies exceed the limit of a bundle file, ${MAX_BUNDLE_BYTES} bytes`)
    texts.splice(-1, 0, text)
    await work.turn()
  }
  return concatInTurns(texts, work)
}

async function readLive(
  reader: StoreReader,
  org: string,
  deviceId: string,
): Promise<AssignmentInputs> {
  const device = await reader.devices.find(org, deviceId)
  if (device === null) throw notFound('device not found')
  const { username } = device
  // As with its token: it ends with the membership of its user.
  const isOut = username !== null && (await reader.memberships.find(org, username)) === null
  if (device.revoked_at !== null || isOut)
    throw conflict('the device was revoked; enrol the machine again')
  return readAssignmentInputs(reader, device)
}

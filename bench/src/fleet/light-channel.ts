import { viewSettingsSchema, type Enrolment } from '../../../packages/protocol/src/index.ts'
import { fault, type Fault } from '../../../agent/src/sync/fault.ts'
import { fetchUpdate } from '../../../agent/src/sync/update/fetch-update.ts'
import { fetchTimestamp, pollView, viewPath } from '../../../agent/src/sync/update/view-files.ts'
import { readAssignment } from '../../../agent/src/sync/trust/assignment.ts'
import {
  isSignedBy,
  readRoot,
  readSnapshot,
  readTargets,
  readTimestamp,
  sha256,
  type Root,
} from '../../../agent/src/sync/trust/signed-metadata.ts'
import type { FetchFile } from '../../../agent/src/sync/transport/fetch-file.ts'

const MAX_BYTES = 1024 * 1024
const MAX_TIMESTAMP_BYTES = 16 * 1024

/** An agent's knowledge of its view. Many agents share one object. */
export interface LightState {
  readonly view: string
  readonly etag: string | null
  readonly snapshot: number
  readonly targets: number
  readonly documents: ReadonlySet<string>
  readonly revision: number
}

/**
 * One fetch attempt with the same requests in the same order as `sync/update/view-channel.ts`. It
 * verifies the signatures of timestamp and assignment, and everything below them by its hash. It
 * omits the second verification by tuf-js, compilation, and the disk.
 */
export async function fetchLightly(
  deps: { readonly enrolment: Enrolment; readonly root: Root; readonly fetchFile: FetchFile },
  state: LightState | null,
  signal: AbortSignal,
): Promise<LightState | Fault> {
  const { enrolment, root } = deps
  const { org, device_id } = enrolment
  if (state !== null && state.etag !== null) {
    const known = { org, view: state.view, etag: state.etag }
    const polled = await pollView(deps.fetchFile, known, signal)
    if (polled.kind !== 'changed') return polled.kind === 'same' ? state : polled
  }
  const held = { root: root.version, etag: null, view: null, targets: null, ...state }
  const update = await fetchUpdate(deps.fetchFile, enrolment, held, signal)
  if (update.kind === 'fault') return update
  if (update.kind !== 'archive') return fault('http_status', 'the server returned no update')
  const { fetchFile, etag, view: id } = update
  const timestamp = await fetchTimestamp(fetchFile, { org, view: id }, signal)
  if (timestamp.kind === 'fault') return timestamp
  const assignment = readAssignment(update.assignment)
  const isOwn = assignment?.device_id === device_id && assignment.view === id
  if (!isOwn || !isSignedBy(root, 'targets', update.assignment))
    return fault('bad_signature', 'the assignment is not valid')
  return follow(timestamp.body.toString(), state)

  async function follow(text: string, former: LightState | null) {
    const read = readTimestamp(text)
    if (read === null || !isSignedBy(root, 'timestamp', text))
      return fault('bad_signature', 'the timestamp is not valid')
    const base = viewPath(org, id)
    const next = { path: `${base}/metadata/${root.version + 1}.root.json`, maxBytes: MAX_BYTES }
    const newer = await fetchFile(next, signal)
    if (newer.kind === 'fault') return newer

    const meta = read.meta['snapshot.json']
    if (meta.version === former?.snapshot) return { ...former, etag }
    const path = `${base}/metadata/${meta.version}.snapshot.json`
    const snapshot = readSnapshot(await fetchHashed(path, meta.hashes.sha256))
    const listed = snapshot?.meta['targets.json']
    if (listed === undefined) return fault('mixed', 'the snapshot does not match the timestamp')
    const of = `${base}/metadata/${listed.version}.targets.json`
    const targets = readTargets(await fetchHashed(of, listed.hashes.sha256))
    const settings = viewSettingsSchema.safeParse(targets?.['x-settings'])
    if (targets === null || !settings.success)
      return fault('mixed', 'the targets do not match the snapshot')
    const documents = new Set<string>()
    for (const [name, { hashes }] of Object.entries(targets.targets)) {
      documents.add(hashes.sha256)
      if (former?.documents.has(hashes.sha256) === true) continue
      const file = name.replace('policies/', `${hashes.sha256}.`)
      const document = await fetchHashed(`${base}/targets/policies/${file}`, hashes.sha256)
      if (document === '') return fault('mixed', 'a policy does not match the targets')
    }
    const versions = { snapshot: meta.version, targets: listed.version }
    return { view: id, etag, ...versions, documents, revision: settings.data.revision }
  }

  /** Returns '' when the fetch fails or the hash differs. */
  async function fetchHashed(path: string, hash: string): Promise<string> {
    const fetched = await fetchFile({ path, maxBytes: MAX_BYTES }, signal)
    if (fetched.kind !== 'body') return ''
    return sha256(fetched.body) === hash ? fetched.body.toString() : ''
  }
}

/**
 * Polls with the same conditional request and verifies the signature of a new timestamp. It does
 * not fetch the metadata that the timestamp announces.
 */
export async function pollLightly(
  { root, fetchFile }: { readonly root: Root; readonly fetchFile: FetchFile },
  state: LightState | null,
  signal: AbortSignal,
): Promise<LightState | Fault> {
  if (state === null) return fault('malformed', 'the agent has no state to poll with')
  const path = `${viewPath(root['x-org'], state.view)}/metadata/timestamp.json`
  const wanted = { path, maxBytes: MAX_TIMESTAMP_BYTES, etag: state.etag, isPoll: true }
  const fetched = await fetchFile(wanted, signal)
  if (fetched.kind === 'fault') return fetched
  if (fetched.kind === 'not_modified') return state
  if (fetched.kind === 'absent') return fault('http_status', 'the server answered 404')
  const text = fetched.body.toString()
  const timestamp = readTimestamp(text)
  if (timestamp === null || !isSignedBy(root, 'timestamp', text))
    return fault('bad_signature', 'the timestamp is not valid')
  return { ...state, etag: fetched.etag, snapshot: timestamp.meta['snapshot.json'].version }
}

/** Parses the root of an enrolment. */
export function rootOf({ root }: Enrolment): Root {
  const read = readRoot(root)
  if (read === null) throw new Error('the root of an enrolment cannot be read')
  return read
}

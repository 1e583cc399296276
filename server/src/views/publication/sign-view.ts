import { Metadata, Snapshot, Timestamp } from '@tufjs/models'
import { describeFile, formatMetadata, formatTufTime, SPEC_VERSION } from '../keys/metadata.ts'
import type { RoleKey } from '../keys/role-key.ts'
import { formatAroundListing, type AroundListing } from '../content/targets-text.ts'
import type { ViewContent } from '../content/view-content.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const TARGETS_LIFE_MS = 90 * DAY_MS
const SNAPSHOT_LIFE_MS = 7 * DAY_MS

/** The subject of a metadata file, and its time of signing. */
export interface Signing {
  readonly org: string
  readonly view: string
  readonly version: number
  readonly atMs: number
  readonly key: RoleKey
}

/** A file that another one refers to. */
export interface FileVersion {
  readonly version: number
  readonly body: Uint8Array
}

/** A targets file, and its text without the members of its listing. */
export interface SignedTargets extends AroundListing {
  readonly body: Buffer
}

/** `targets.json`: the documents by name, length and hash, and the settings. */
export function signTargets(
  signing: Signing,
  { listing, settings }: Pick<ViewContent, 'listing' | 'settings'>,
): SignedTargets {
  const { version, specVersion: spec_version, expires } = common(signing, TARGETS_LIFE_MS)
  const members = { version, spec_version, expires, ...bindingOf(signing), 'x-settings': settings }
  const { head, tail } = formatAroundListing(members)
  const signed = Buffer.from(`${head}${listing}${tail}`)
  const start = `{"signatures":${JSON.stringify([signing.key.signBytes(signed).toJSON()])},"signed":`
  const body = Buffer.concat([Buffer.from(start), signed, Buffer.from('}')])
  return { body, head: `${start}${head}{`, tail: `}${tail}}` }
}

/** `snapshot.json`: which targets file belongs to it. */
export function signSnapshot(signing: Signing, targets: FileVersion): Buffer {
  const snapshot = new Snapshot({
    ...common(signing, SNAPSHOT_LIFE_MS),
    meta: { 'targets.json': describeFile(targets.version, targets.body) },
  })
  return finish(signing, new Metadata(snapshot))
}

/** `timestamp.json`: which snapshot is the newest, as of when, and for how long to believe it. */
export function signTimestamp(signing: Signing, snapshot: FileVersion, lifeMs: number): Buffer {
  const timestamp = new Timestamp({
    ...common(signing, lifeMs),
    snapshotMeta: describeFile(snapshot.version, snapshot.body),
    unrecognizedFields: { ...bindingOf(signing), 'x-issued': formatTufTime(signing.atMs) },
  })
  return finish(signing, new Metadata(timestamp))
}

function common({ version, atMs }: Signing, lifeMs: number) {
  return { version, specVersion: SPEC_VERSION, expires: formatTufTime(atMs + lifeMs) }
}

/** The specification binds metadata to keys alone, and those are the same for all views. */
function bindingOf({ org, view }: Signing) {
  return { 'x-org': org, 'x-view': view }
}

function finish({ key }: Signing, metadata: Metadata<Snapshot> | Metadata<Timestamp>): Buffer {
  key.sign(metadata)
  return formatMetadata(metadata)
}

import type { Publication } from '../../store/aggregates/distribution/view-contract.ts'
import type { ViewRecord } from '../../store/distribution-records.ts'
import type { StoreWriter } from '../../store/store.ts'
import { StoreError } from '../../store/store-error.ts'
import { findDueRole, secondsOf, startOfKept, type DueRole } from './renewal.ts'
import {
  signSnapshot,
  signTargets,
  signTimestamp,
  type FileVersion,
  type SignedTargets,
  type Signing,
} from './sign-view.ts'
import type { Trust } from '../keys/trust.ts'
import type { ViewContent } from '../content/view-content.ts'

/** The keys that sign, and the time. */
export interface Publishing {
  readonly writer: StoreWriter
  readonly trust: Trust
  readonly now: Date
  /** Whether a timestamp that is some minutes old does not do. */
  readonly isRenewal: boolean
}

/** A view in the transaction that is to store it. */
export interface SignedView {
  readonly former: ViewRecord | null
  /** Null when no file was due. */
  readonly publication: Publication | null
}

/**
 * Signs the files that are due. They and `trust` are stored in the transaction of `writer`: when
 * several servers publish at once, one of them makes a version, and only stored files are served.
 */
export async function signView(
  { writer, trust, now, isRenewal }: Publishing,
  { org, id }: Pick<ViewRecord, 'org' | 'id'>,
  content: ViewContent,
): Promise<SignedView> {
  const { keys, root } = trust
  const former = await writer.views.find(org, id)
  const inspection = { root, contentHash: content.hash, nowMs: now.getTime(), isRenewal }
  const due = findDueRole(former, inspection)
  if (former !== null && due === 'nothing') return { former, publication: null }

  const version = nextVersion(former, now)
  const signing = { org, view: id, version, atMs: now.getTime(), keys }
  const files = await signFiles({ writer, former, due, signing }, content)
  const snapshot =
    files === null
      ? await readFile(writer, former, 'snapshot', now)
      : { version, body: files.snapshot }
  const lifeMs = content.settings.fresh_for_seconds * 1000
  const at = now.toISOString()
  const view: ViewRecord = {
    ...(former ?? NEVER_SIGNED),
    ...(files === null ? {} : { snapshot_version: version, snapshot_signed_at: at }),
    ...(files === null || files.targets === null
      ? {}
      : { targets_version: version, targets_signed_at: at, revision: content.settings.revision }),
    org,
    id,
    content_hash: content.hash,
    root_version: root.version,
    timestamp_version: version,
    timestamp_signed_at: at,
    timestamp_body: signTimestamp({ ...signing, key: keys.online }, snapshot, lifeMs),
  }
  return { former, publication: { view, files: files && toStored(files, content) } }
}

const NEVER_SIGNED = {
  revision: 0,
  targets_version: 0,
  targets_signed_at: '',
  snapshot_version: 0,
  snapshot_signed_at: '',
} as const

interface SignedFiles {
  readonly targets: SignedTargets | null
  readonly snapshot: Buffer
}

interface Signer {
  readonly writer: StoreWriter
  readonly former: ViewRecord | null
  readonly due: DueRole
  readonly signing: Omit<Signing, 'key'> & Pick<Trust, 'keys'>
}

/** Null where the timestamp alone is due. */
async function signFiles(
  { writer, former, due, signing }: Signer,
  content: ViewContent,
): Promise<SignedFiles | null> {
  const { keys, version, atMs } = signing
  if (due === 'timestamp') return null
  const online = { ...signing, key: keys.online }
  if (due === 'snapshot') {
    const kept = await readFile(writer, former, 'targets', new Date(atMs))
    return { targets: null, snapshot: signSnapshot(online, kept) }
  }
  const targets = signTargets({ ...signing, key: keys.targets }, content)
  return { targets, snapshot: signSnapshot(online, { version, body: targets.body }) }
}

function toStored(
  { snapshot, targets }: SignedFiles,
  { documents }: ViewContent,
): Publication['files'] {
  return {
    snapshot: snapshot.toString(),
    targets: targets && { head: targets.head, documents, tail: targets.tail },
  }
}

/**
 * Seconds since 1970, or one more than the former version. A store restored from a backup thereby
 * continues above every version served since, without knowing them.
 */
function nextVersion(former: ViewRecord | null, now: Date): number {
  const versions = former
    ? [former.targets_version, former.snapshot_version, former.timestamp_version]
    : []
  return Math.max(...versions.map((version) => version + 1), secondsOf(now))
}

async function readFile(
  { views }: StoreWriter,
  view: ViewRecord | null,
  role: 'targets' | 'snapshot',
  now: Date,
): Promise<FileVersion> {
  if (view === null) throw new StoreError('ERR_STORE_NOT_FOUND', `there is no ${role} file`)
  const version = view[`${role}_version`]
  const name = `${version}.${role}.json`
  const body = await views.file(view.org, view.id, name, startOfKept(now))
  if (body === null)
    throw new StoreError(
      'ERR_STORE_NOT_FOUND',
      `${role} file of view \`${view.id}\` does not exist`,
    )
  return { version, body }
}

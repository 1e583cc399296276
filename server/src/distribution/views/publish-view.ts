import type { RootRecord, ViewRecord } from '../../store/records.ts'
import type { StoreWriter } from '../../store/store.ts'
import { StoreError } from '../../store/store-error.ts'
import type { RoleKey } from './role-key.ts'
import {
  signSnapshot,
  signTargets,
  signTimestamp,
  type FileVersion,
  type Signing,
} from './sign-view.ts'
import { startOfSlot } from './slot.ts'
import type { Trust } from './trust.ts'
import type { ViewContent } from './view-content.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** A machine that misses two of them is not stale yet. */
const RENEWALS_OF_LIFE = 4
const TARGETS_RENEWAL_MS = 30 * DAY_MS
const SNAPSHOT_RENEWAL_MS = DAY_MS
/** Machines that are in the middle of an update still ask for what it began with. */
const SUPERSEDED_KEPT_MS = DAY_MS
/** Longer than any timestamp lives. */
const ABANDONED_AFTER_MS = 31 * DAY_MS

/** Which of a view's files have to be signed anew. Each one contains those before it. */
export type Due = 'nothing' | 'timestamp' | 'snapshot' | 'targets'

export function findDue(
  view: ViewRecord | null,
  root: RootRecord,
  contentHash: string,
  nowMs: number,
): Due {
  if (view === null || view.content_hash !== contentHash) return 'targets'
  // Another root may have other keys.
  if (view.root_version !== root.version) return 'targets'
  if (nowMs - Date.parse(view.targets_signed_at) >= TARGETS_RENEWAL_MS) return 'targets'
  if (nowMs - Date.parse(view.snapshot_signed_at) >= SNAPSHOT_RENEWAL_MS) return 'snapshot'
  return isWithin(termOfTimestamp(view), nowMs) ? 'nothing' : 'timestamp'
}

/** From when, and before when, a signed timestamp is served; milliseconds since 1970. */
export interface Term {
  readonly fromMs: number
  readonly untilMs: number
}

/** To its next hour, or sooner where it lives for a few hours alone. Its begin is for a clock that ran ahead and signed with a time still to come. */
export function termOfTimestamp(view: ViewRecord): Term {
  const signedMs = Date.parse(view.timestamp_signed_at)
  const slotMs = Math.min(HOUR_MS, lifeOf(view) / RENEWALS_OF_LIFE)
  return { fromMs: signedMs - HOUR_MS, untilMs: startOfSlot(signedMs, view.id, slotMs) + slotMs }
}

/** Of the timestamp, in milliseconds. */
function lifeOf({ timestamp_body }: ViewRecord): number {
  const { signed } = JSON.parse(Buffer.from(timestamp_body).toString()) as {
    readonly signed: { readonly 'x-issued': string; readonly expires: string }
  }
  return Date.parse(signed.expires) - Date.parse(signed['x-issued'])
}

export function isWithin({ fromMs, untilMs }: Term, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < untilMs
}

/**
 * Signs what is due and stores it with its versions, all in the transaction of `writer`, as is
 * `trust`: whatever number of servers publish at once, one of them makes a version, and nothing
 * that was not stored is ever served.
 */
export async function publishView(
  { writer, trust, now }: Publishing,
  place: Pick<ViewRecord, 'org' | 'id'>,
  content: ViewContent,
): Promise<ViewRecord> {
  const { keys, root } = trust
  const former = await writer.views.find(place.org, place.id)
  const due = findDue(former, root, content.hash, now.getTime())
  if (former !== null && due === 'nothing') return former

  const publication = { writer, place, former, due, now }
  const targets = await renewTargets(publication, keys.targets, content)
  const snapshot = await renewSnapshot(publication, keys.online, targets)
  const lifeMs = content.settings.fresh_for_seconds * 1000
  const timestamp = renew(publication, keys.online, former?.timestamp_version, (signing) =>
    signTimestamp(signing, snapshot, lifeMs),
  )
  const next: ViewRecord = {
    org: place.org,
    id: place.id,
    revision: former === null || targets.isNew ? content.settings.revision : former.revision,
    content_hash: content.hash,
    root_version: root.version,
    targets_version: targets.version,
    targets_signed_at: targets.signedAt,
    snapshot_version: snapshot.version,
    snapshot_signed_at: snapshot.signedAt,
    timestamp_version: timestamp.version,
    timestamp_signed_at: timestamp.signedAt,
    timestamp_body: timestamp.body,
  }
  await writer.views.put(next)
  await storeFiles(writer, next, { targets, snapshot, content, now })
  return next
}

/** Who signs, when, and where it is stored. */
export interface Publishing {
  readonly writer: StoreWriter
  readonly trust: Trust
  readonly now: Date
}

interface Publication {
  readonly writer: StoreWriter
  readonly place: Pick<ViewRecord, 'org' | 'id'>
  readonly former: ViewRecord | null
  readonly due: Due
  readonly now: Date
}

interface SignedFile extends FileVersion {
  readonly signedAt: string
  readonly isNew: boolean
}

async function renewTargets(
  publication: Publication,
  key: RoleKey,
  content: ViewContent,
): Promise<SignedFile> {
  const { writer, former, due } = publication
  if (former !== null && due !== 'targets') return readFile(writer, former, 'targets')
  return renew(publication, key, former?.targets_version, (signing) =>
    signTargets(signing, content),
  )
}

async function renewSnapshot(
  publication: Publication,
  key: RoleKey,
  targets: SignedFile,
): Promise<SignedFile> {
  const { writer, former, due } = publication
  if (former !== null && due === 'timestamp') return readFile(writer, former, 'snapshot')
  return renew(publication, key, former?.snapshot_version, (signing) =>
    signSnapshot(signing, targets),
  )
}

function renew(
  { place, now }: Publication,
  key: RoleKey,
  formerVersion: number | undefined,
  sign: (signing: Signing) => Buffer,
): SignedFile {
  const version = nextVersion(formerVersion ?? 0, now)
  const body = sign({ org: place.org, view: place.id, version, atMs: now.getTime(), key })
  return { version, body, signedAt: now.toISOString(), isNew: true }
}

/**
 * Seconds since 1970, or one more than before: a store that is restored from a backup goes on above
 * everything that was served since, without knowing what that was.
 */
function nextVersion(former: number, now: Date): number {
  return Math.max(former + 1, Math.floor(now.getTime() / 1000))
}

async function readFile(
  { views }: StoreWriter,
  view: ViewRecord,
  role: 'targets' | 'snapshot',
): Promise<SignedFile> {
  const version = view[`${role}_version`]
  const body = await views.file(view.org, view.id, `${version}.${role}.json`)
  if (body === null)
    throw new StoreError('ERR_STORE_NOT_FOUND', `${role} file of view \`${view.id}\` is not there`)
  return { version, body, signedAt: view[`${role}_signed_at`], isNew: false }
}

async function storeFiles(
  { views }: StoreWriter,
  view: ViewRecord,
  made: {
    readonly targets: SignedFile
    readonly snapshot: SignedFile
    readonly content: ViewContent
    readonly now: Date
  },
): Promise<void> {
  const { org, id: view_id } = view
  const at = made.now.toISOString()
  if (made.targets.isNew) {
    const { version, body } = made.targets
    await views.putDocuments(view, made.content.documents, at)
    await views.putFile({ org, view_id, name: `${version}.targets.json`, body }, at)
  }
  if (!made.snapshot.isNew) return
  const { version, body } = made.snapshot
  await views.putFile({ org, view_id, name: `${version}.snapshot.json`, body }, at)
  await views.deleteSuperseded(view, earlier(made.now, SUPERSEDED_KEPT_MS))
  // Looks at every view of the organization, so not in those that a change makes all at once.
  if (!made.targets.isNew) await views.deleteAbandoned(org, earlier(made.now, ABANDONED_AFTER_MS))
}

function earlier(now: Date, ms: number): string {
  return new Date(now.getTime() - ms).toISOString()
}

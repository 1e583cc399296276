import {
  MAX_POLICIES_OF_VIEW,
  POLICY_DOCUMENT_SCHEMA,
  viewSettingsSchema,
  viewTargetSchema,
  type ViewTarget,
  type Enrolment,
  type ViewSettings,
} from '@palisade/protocol'
import { CLOCK_TOLERANCE_MS, type Bounds } from '../../policy/state/trusted-clock.ts'
import { NO_ACCESS, readGrants, type AssignedGrants } from '../read-grants.ts'
import { isLater, newestOrderOf, orderOf, readAssignment, type Assignment } from './assignment.ts'
import { fault, type Fault } from '../fault.ts'
import {
  isSignedBy,
  readFile,
  readSnapshot,
  readTargets,
  readTimestamp,
  sha256,
  type Root,
  type SignedFile,
  type Snapshot,
  type Targets,
  type Timestamp,
} from './signed-metadata.ts'
import type { TrustedState, ViewFiles } from './trusted-state.ts'
import { isBehind, type Versions } from './view-marks.ts'

/** Each view is signed at its own minute of the hour, so another view may be this much older. */
const SLOT_MS = 60 * 60_000
const MAX_LIFE_MS = 30 * 24 * 60 * 60_000
/** A policy has at most 400 KB unless the server's limits are raised. */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
const NAME = /^policies\/(?<id>[a-z0-9_]{1,64})\.json$/

/** A document that the view lists. */
export interface Listed {
  readonly id: string
  readonly sha256: string
  readonly length: number
  /** True for a shadow policy, which decides nothing; otherwise absent. */
  readonly isShadow?: true
}

/** A view that is consistent, is for this machine, and is not older than the accepted ones. */
export interface VerifiedView {
  readonly files: ViewFiles
  readonly versions: Versions
  readonly issuedMs: number
  /** The nonce in the signed assignment, or null. */
  readonly nonce: string | null
  readonly staleMs: number
  /** Whether no later assignment was accepted before. */
  readonly isNewestAssignment: boolean
  /**
   * Grants of the newest accepted assignment: an earlier one may have a grant that was revoked
   * since.
   */
  readonly access: AssignedGrants
  readonly documents: readonly Listed[]
  /** Null if the view has content unknown to this version; then everything is denied. */
  readonly settings: ViewSettings | null
}

export interface ViewContext {
  readonly enrolment: Pick<Enrolment, 'org' | 'device_id' | 'user'>
  readonly root: Root
  readonly state: TrustedState
  readonly bounds: Bounds
  /**
   * True for a view from disk. Its times were checked on arrival; if it has expired since, it
   * denies.
   */
  readonly isKept: boolean
}

interface Parsed {
  readonly timestamp: Timestamp
  readonly snapshot: Snapshot
  readonly targets: Targets
  readonly assignment: Assignment
}

/**
 * Checks the parts that TUF leaves to the application: addressee, order and lifetime. Verifies
 * signatures and links once more, because files also come from the disk.
 */
export function verifyView(files: ViewFiles, context: ViewContext): VerifiedView | Fault {
  const parsed = parseFiles(files, context)
  if ('kind' in parsed) return parsed
  const settings = readSettings(parsed.targets)
  return (
    checkAddressee(parsed, files, context) ??
    checkOrder(parsed, files, context) ??
    (context.isKept ? null : checkTime(parsed, settings, context)) ??
    finish(parsed, settings, { files, context })
  )
}

/** A file without content, from which no metadata can be read. */
const NO_FILE: SignedFile = { signatures: [], signed: null }

function parseFiles(files: ViewFiles, { root }: ViewContext): Parsed | Fault {
  const read = (text: string): SignedFile => readFile(text) ?? NO_FILE
  const file = {
    timestamp: read(files.timestamp),
    snapshot: read(files.snapshot),
    targets: read(files.targets),
    assignment: read(files.assignment),
  }
  const timestamp = readTimestamp(file.timestamp)
  const snapshot = readSnapshot(file.snapshot)
  const targets = readTargets(file.targets)
  const assignment = readAssignment(file.assignment)
  if (timestamp === null || snapshot === null || targets === null || assignment === null)
    return fault('malformed', 'the metadata is invalid for this agent')
  const isSigned =
    isSignedBy(root, 'timestamp', file.timestamp) &&
    isSignedBy(root, 'snapshot', file.snapshot) &&
    isSignedBy(root, 'targets', file.targets) &&
    isSignedBy(root, 'targets', file.assignment)
  if (!isSigned) return fault('bad_signature', 'the signature of the policy is invalid')
  if (
    !isDescribed(timestamp.meta['snapshot.json'], snapshot.version, files.snapshot) ||
    !isDescribed(snapshot.meta['targets.json'], targets.version, files.targets)
  )
    return fault('mixed', 'the files do not belong together')
  return { timestamp, snapshot, targets, assignment }
}

function isDescribed(
  meta: Timestamp['meta']['snapshot.json'],
  version: number,
  text: string,
): boolean {
  return meta.version === version && meta.hashes.sha256 === sha256(text)
}

function checkAddressee(
  { timestamp, targets, assignment }: Parsed,
  files: ViewFiles,
  { enrolment, root }: ViewContext,
): Fault | null {
  for (const org of [root['x-org'], timestamp['x-org'], targets['x-org'], assignment.org])
    if (org !== enrolment.org)
      return fault('wrong_organization', 'the policy is for another organization')
  if (assignment.device_id !== enrolment.device_id)
    return fault('wrong_device', 'the view was assigned to another device')
  if (assignment.user !== enrolment.user)
    return fault('wrong_user', 'the view was assigned to the device of another user')
  for (const view of [timestamp['x-view'], targets['x-view'], assignment.view])
    if (view !== files.id) return fault('wrong_view', 'the policy belongs to another view')
  return null
}

function checkOrder(parsed: Parsed, files: ViewFiles, context: ViewContext): Fault | null {
  const { timestamp, assignment } = parsed
  const { state } = context
  const versions = versionsOf(parsed)
  const issuedMs = Date.parse(timestamp['x-issued'])
  if (isBehind(state, { view: files.id, versions, issuedMs }))
    return fault('older_version', 'the policy has older versions than were accepted before')
  if (issuedMs < state.issued_ms - SLOT_MS - CLOCK_TOLERANCE_MS)
    return fault('older_issue', 'the policy was issued before the one in force')
  return checkAssignment(assignment, context)
}

/**
 * A machine leaves its view only for a later assignment; otherwise a replayed one would move it
 * back. Within one view the versions of its files give the order, and servers whose clocks differ
 * may assign it.
 */
function checkAssignment(assignment: Assignment, context: ViewContext): Fault | null {
  const newest = newestOrderOf(context.state, context.root)
  if (newest === null) return null
  const order = orderOf(assignment)
  const isSameView = assignment.view === context.state.view?.id
  if (
    isSameView
      ? order.issuedMs >= newest.issuedMs - CLOCK_TOLERANCE_MS
      : order.version > newest.version
  )
    return null
  return fault('older_issue', 'the view was assigned before the newest accepted assignment')
}

function versionsOf({ timestamp, snapshot, targets }: Parsed): Versions {
  return {
    timestamp: timestamp.version,
    snapshot: snapshot.version,
    targets: targets.version,
  }
}

function checkTime(
  { timestamp, assignment }: Parsed,
  settings: ViewSettings | null,
  { bounds }: ViewContext,
): Fault | null {
  const lifeMs = Math.min((settings?.fresh_for_seconds ?? Infinity) * 1000, MAX_LIFE_MS)
  for (const [issued, expires] of [
    [timestamp['x-issued'], timestamp.expires],
    [assignment.issued, assignment.expires],
  ] as const) {
    const [issuedMs, expiresMs] = [Date.parse(issued), Date.parse(expires)]
    // A thief of the online key alone must not raise the clock of a machine.
    if (issuedMs > bounds.futureMs + CLOCK_TOLERANCE_MS)
      return fault('issued_in_future', `the policy was issued at ${issued}; set the clock right`)
    if (expiresMs - issuedMs > lifeMs + CLOCK_TOLERANCE_MS)
      return fault('lives_too_long', 'the policy is valid for longer than allowed')
    if (bounds.expiryMs >= expiresMs) return fault('expired', `the policy expired at ${expires}`)
  }
  return null
}

function readSettings(targets: Targets): ViewSettings | null {
  const settings = viewSettingsSchema.safeParse(targets['x-settings'])
  return settings.success ? settings.data : null
}

/** An unknown mode enforces. */
function readMode(target: ViewTarget | undefined): Pick<Listed, 'isShadow'> {
  return target?.mode === 'shadow' ? { isShadow: true } : {}
}

function finish(
  parsed: Parsed,
  settings: ViewSettings | null,
  { files, context }: { readonly files: ViewFiles; readonly context: ViewContext },
): VerifiedView | Fault {
  const { timestamp, targets, assignment } = parsed
  const newest = newestOrderOf(context.state, context.root)
  const listed = Object.entries(targets.targets)
  if (listed.length > MAX_POLICIES_OF_VIEW)
    return fault('too_large', `the view lists more than ${MAX_POLICIES_OF_VIEW} policies`)
  const documents: Listed[] = []
  let isKnown = settings !== null
  for (const [name, { length, hashes, custom }] of listed) {
    const id = NAME.exec(name)?.groups?.['id']
    if (id === undefined)
      return fault('malformed', 'the view lists a document with an invalid name')
    if (length > MAX_DOCUMENT_BYTES)
      return fault('too_large', `a policy is larger than ${MAX_DOCUMENT_BYTES} bytes`)
    const target = viewTargetSchema.safeParse(custom).data
    isKnown &&= target?.schema === POLICY_DOCUMENT_SCHEMA
    documents.push({ id, sha256: hashes.sha256, length, ...readMode(target) })
  }
  const isNewestAssignment = newest === null || !isLater(newest, orderOf(assignment))
  return {
    files,
    versions: versionsOf(parsed),
    issuedMs: Date.parse(timestamp['x-issued']),
    nonce: assignment.nonce ?? null,
    staleMs: Math.min(Date.parse(timestamp.expires), Date.parse(assignment.expires)),
    isNewestAssignment,
    access: grantsOf(assignment, isNewestAssignment, context),
    documents,
    settings: isKnown ? settings : null,
  }
}

/** The newest assignment was accepted for this machine, but perhaps before another enrolment. */
function grantsOf(
  assignment: Assignment,
  isNewest: boolean,
  { state, enrolment }: ViewContext,
): AssignedGrants {
  if (isNewest) return readGrants(assignment)
  const newest = state.newest_assignment === null ? null : readAssignment(state.newest_assignment)
  const isOwn = newest?.device_id === enrolment.device_id && newest.user === enrolment.user
  return isOwn ? readGrants(newest) : NO_ACCESS
}

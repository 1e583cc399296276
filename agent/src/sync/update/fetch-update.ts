import {
  ASSIGNMENT_VERSION_HEADER,
  MAX_UPDATE_BYTES,
  NONCE_HEADER,
  RENEWAL_HEADER,
  UPDATE_PATH,
  type Enrolment,
} from '@palisade/protocol'
import { fault, type Fault } from '../fault.ts'
import { openArchive, type Archive } from './open-archive.ts'
import type { FetchFile } from '../transport/fetch-file.ts'

/** An unverified update that the server composed for this machine. */
export interface Update extends Archive {
  /** Tag of the timestamp in it. */
  readonly etag: string | null
}

/** The files that this machine already has; null or 1 for missing ones. */
export interface HeldFiles {
  readonly view: string | null
  /** Version of the newest root. */
  readonly root: number
  /** Version of the targets file of `view`. */
  readonly targets: number | null
  /** Tag of the timestamp of `view`; makes the request conditional. */
  readonly etag: string | null
  /** Version of the newest accepted assignment; 0 before the first. */
  readonly assignmentVersion?: number
  /** To be signed into the next assignment; null while this machine is not revoked. */
  readonly nonce?: string | null
  /** The timestamp must be issued after this, in milliseconds since 1970; null for any. */
  readonly issuedAfterMs?: number | null
}

/**
 * Requests all missing files in one answer. Files that do not fit into it, such as many policies,
 * are fetched one by one. Never rejects.
 */
export async function fetchUpdate(
  fetchFile: FetchFile,
  enrolment: Pick<Enrolment, 'org' | 'device_id'>,
  held: HeldFiles,
  signal: AbortSignal,
): Promise<Update | { readonly kind: 'same' } | Fault> {
  const { etag, assignmentVersion = 0, nonce = null, issuedAfterMs = null } = held
  const path = `${UPDATE_PATH}?${formatHeld(held)}`
  const headers = {
    [ASSIGNMENT_VERSION_HEADER]: String(assignmentVersion),
    ...(nonce === null ? {} : { [NONCE_HEADER]: nonce }),
    ...(issuedAfterMs === null ? {} : { [RENEWAL_HEADER]: formatSeconds(issuedAfterMs) }),
  }
  const fetched = await fetchFile({ path, maxBytes: MAX_UPDATE_BYTES, etag, headers }, signal)
  if (fetched.kind === 'not_modified') return { kind: 'same' }
  if (fetched.kind === 'absent') return fault('http_status', 'the server answered 404')
  if (fetched.kind !== 'body') return fetched
  const archive = await openArchive([fetched.body], enrolment, {
    what: 'update',
    orElse: fetchFile,
  })
  return archive.kind === 'fault' ? archive : { ...archive, etag: fetched.etag }
}

function formatSeconds(ms: number): string {
  return String(Math.floor(ms / 1000))
}

function formatHeld({ view, root, targets }: HeldFiles): string {
  const query = new URLSearchParams({ root: String(root) })
  if (view !== null) query.set('view', view)
  if (targets !== null) query.set('targets', String(targets))
  return query.toString()
}

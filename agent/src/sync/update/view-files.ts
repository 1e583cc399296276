import { ASSIGNMENT_VERSION_HEADER } from '@palisade/protocol'
import { describeDiskFault, fault, type Fault } from '../fault.ts'
import { MAX_TIMESTAMP } from './refresh-view.ts'
import type { FetchFile } from '../transport/fetch-file.ts'
import type { VerifiedView } from '../trust/verify-view.ts'
import { sha256 } from '../trust/signed-metadata.ts'
import type { StateStore } from '../state/state-store.ts'

/** Room for 100 policies of 400 KB. */
const MAX_DOCUMENTS = 64 * 1024 * 1024

/** Path of the files of a view. */
export function viewPath(org: string, view: string): string {
  return `/api/v1/orgs/${encodeURIComponent(org)}/views/${encodeURIComponent(view)}`
}

/**
 * Whether the view has another timestamp than the one with that tag, or this machine a later
 * assignment than the given one. Never rejects.
 */
export async function pollView(
  fetchFile: FetchFile,
  known: {
    readonly org: string
    readonly view: string
    readonly etag: string
    readonly assignmentVersion?: number
  },
  signal: AbortSignal,
): Promise<{ readonly kind: 'same' } | { readonly kind: 'changed' } | Fault> {
  const { org, view, etag, assignmentVersion: version } = known
  const headers = version === undefined ? {} : { [ASSIGNMENT_VERSION_HEADER]: String(version) }
  const path = timestampPath(org, view)
  const file = { path, maxBytes: MAX_TIMESTAMP, etag, isPoll: true, headers }
  const fetched = await fetchFile(file, signal)
  if (fetched.kind === 'fault') return fetched
  // Absent means that the view is no longer assigned to this machine.
  return fetched.kind === 'not_modified' ? { kind: 'same' } : { kind: 'changed' }
}

/** Fetches the timestamp, unverified. Never rejects. */
export async function fetchTimestamp(
  fetchFile: FetchFile,
  { org, view }: { readonly org: string; readonly view: string },
  signal: AbortSignal,
): Promise<{ readonly kind: 'timestamp'; readonly body: Buffer } | Fault> {
  const file = { path: timestampPath(org, view), maxBytes: MAX_TIMESTAMP, isPoll: true }
  const fetched = await fetchFile(file, signal)
  if (fetched.kind === 'fault') return fetched
  if (fetched.kind !== 'body') return fault('http_status', 'the server answered 404')
  return { kind: 'timestamp', body: fetched.body }
}

/**
 * The documents of a view in its order: from disk if present, otherwise fetched and written to
 * disk. Never rejects.
 */
export async function fetchDocuments(
  deps: { readonly org: string; readonly store: StateStore; readonly fetchFile: FetchFile },
  view: VerifiedView,
  signal: AbortSignal,
): Promise<{ readonly kind: 'texts'; readonly texts: readonly string[] } | Fault> {
  const { org, store, fetchFile } = deps
  if (view.documents.reduce((sum, { length }) => sum + length, 0) > MAX_DOCUMENTS)
    return fault('too_large', `the policies are larger than ${MAX_DOCUMENTS} bytes`)
  const texts: string[] = []
  for (const { id, sha256: hash, length } of view.documents) {
    const known = await store.readDocument(hash)
    if (known !== null) {
      texts.push(known)
      continue
    }
    const path = `${viewPath(org, view.files.id)}/targets/policies/${hash}.${id}.json`
    const fetched = await fetchFile({ path, maxBytes: length }, signal)
    if (fetched.kind === 'fault') return fetched
    if (fetched.kind !== 'body') return fault('http_status', 'the server lacks a listed policy')
    if (fetched.body.byteLength !== length || sha256(fetched.body) !== hash)
      return fault('mixed', 'a policy differs from the one that the view lists')
    try {
      await store.writeDocument(hash, fetched.body)
    } catch (error) {
      return describeDiskFault(error)
    }
    texts.push(fetched.body.toString())
  }
  return { kind: 'texts', texts }
}

function timestampPath(org: string, view: string): string {
  return `${viewPath(org, view)}/metadata/timestamp.json`
}

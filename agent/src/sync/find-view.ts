import { fault, type Fault } from './fault.ts'
import { readAssignment } from './judge-view.ts'
import { MAX_TIMESTAMP } from './refresh-view.ts'
import type { Fetched, FetchFile } from './view-client.ts'

export const ASSIGNMENT_PATH = '/api/v1/device/view'
const MAX_ASSIGNMENT = 4 * 1024

/** What the server has: nothing of it is verified. */
export interface FoundView {
  readonly kind: 'found'
  readonly id: string
  readonly assignment: string
  readonly timestamp: Buffer
  readonly etag: string | null
}

/** Where the files of a view are. */
export function viewPath(org: string, view: string): string {
  return `/api/v1/orgs/${encodeURIComponent(org)}/views/${encodeURIComponent(view)}`
}

/**
 * Asks for the timestamp of the view that is known, conditionally where there is an `etag`, and when
 * there is another one, for the view that is ours now. Never rejects.
 */
export async function findView(
  fetchFile: FetchFile,
  known: { readonly org: string; readonly view: string | null; readonly etag: string | null },
  signal: AbortSignal,
): Promise<FoundView | { readonly kind: 'same' } | Fault> {
  const fetchTimestamp = (view: string, etag: string | null): Promise<Fetched> => {
    const path = `${viewPath(known.org, view)}/metadata/timestamp.json`
    return fetchFile({ path, maxBytes: MAX_TIMESTAMP, etag, isPoll: true }, signal)
  }
  const first = known.view === null ? null : await fetchTimestamp(known.view, known.etag)
  if (first?.kind === 'fault') return first
  if (first?.kind === 'not_modified') return { kind: 'same' }
  const assignment = await fetchAssignment(fetchFile, signal)
  if (assignment.kind === 'fault') return assignment
  const { id, text } = assignment
  const timestamp = first === null || id !== known.view ? await fetchTimestamp(id, null) : first
  if (timestamp.kind === 'fault') return timestamp
  if (timestamp.kind !== 'body') return fault('http_status', 'the server answered 404')
  return { kind: 'found', id, assignment: text, timestamp: timestamp.body, etag: timestamp.etag }
}

async function fetchAssignment(
  fetchFile: FetchFile,
  signal: AbortSignal,
): Promise<{ readonly kind: 'assignment'; readonly id: string; readonly text: string } | Fault> {
  const fetched = await fetchFile({ path: ASSIGNMENT_PATH, maxBytes: MAX_ASSIGNMENT }, signal)
  if (fetched.kind === 'fault') return fetched
  if (fetched.kind !== 'body') return fault('http_status', 'the server answered 404')
  const text = fetched.body.toString()
  const id = readAssignment(text)?.view
  if (id === undefined) return fault('malformed', 'the server assigns no proper view')
  return { kind: 'assignment', id, text }
}

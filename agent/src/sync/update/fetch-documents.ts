import { fault, type Fault } from '../fault.ts'
import { viewPath } from './find-view.ts'
import type { JudgedView } from '../trust/judge-view.ts'
import { sha256 } from '../trust/signed-metadata.ts'
import type { StateStore } from '../state/state-store.ts'
import type { FetchFile } from '../transport/view-client.ts'

/** 100 policies of 400 KB fit with room to spare. */
const MAX_DOCUMENTS = 64 * 1024 * 1024

/**
 * The documents of a view in its order: from the disk where they are already, else from the server,
 * and then onto the disk. Never rejects.
 */
export async function fetchDocuments(
  deps: { readonly org: string; readonly store: StateStore; readonly fetchFile: FetchFile },
  view: JudgedView,
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
      return fault('mixed', 'a policy is not the one that the view lists')
    try {
      await store.writeDocument(hash, fetched.body)
    } catch (error) {
      return describeDiskFault(error)
    }
    texts.push(fetched.body.toString())
  }
  return { kind: 'texts', texts }
}

/** What could not be written is not put into force: after a restart it would be gone. */
export function describeDiskFault(error: unknown): Fault {
  const reason = error instanceof Error ? error.message : String(error)
  return fault('cache_not_written', `the policy cannot be kept on disk: ${reason}`)
}

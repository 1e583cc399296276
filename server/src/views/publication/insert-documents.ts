import type { DocumentRecord } from '../../store/distribution-records.ts'
import type { Store } from '../../store/store.ts'
import { secondsOf } from './renewal.ts'

/** A transaction holds the event loop while it inserts and commits; bench: server/hostile. */
const TRANSACTION_BYTES = 1024 * 1024

/**
 * Inserts the documents of large views in small transactions, before the one that publishes. That
 * one inserts every document that is still missing, so a view lists no document that the store does
 * not have. Documents left unlisted by a crash are deleted like those that views have dropped.
 */
export async function insertDocuments(
  store: Pick<Store, 'read' | 'transaction'>,
  org: string,
  documents: readonly DocumentRecord[],
  now: () => Date,
): Promise<void> {
  // Most views fit into one transaction, even if no document is stored yet.
  if (bytesOf(documents) <= TRANSACTION_BYTES) return
  const missing = await store.read(({ views }) => views.missing(org, documents))
  if (bytesOf(missing) <= TRANSACTION_BYTES) return
  for (const part of splitByBytes(missing))
    await store.transaction(({ views }) => views.insertAhead(org, part, secondsOf(now())))
}

/** Parts of at most `TRANSACTION_BYTES`, or of one larger document. */
function* splitByBytes(documents: readonly DocumentRecord[]): Generator<DocumentRecord[]> {
  let part: DocumentRecord[] = []
  for (const document of documents) {
    if (part.length > 0 && bytesOf([...part, document]) > TRANSACTION_BYTES) {
      yield part
      part = []
    }
    part.push(document)
  }
  if (part.length > 0) yield part
}

function bytesOf(documents: readonly DocumentRecord[]): number {
  return documents.reduce((sum, { body }) => sum + body.byteLength, 0)
}

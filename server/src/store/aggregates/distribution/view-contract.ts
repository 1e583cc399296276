import type { DocumentRecord, PublicationRecord, ViewRecord } from '../../distribution-records.ts'

/**
 * The files signed for one set of teams. `since` is in seconds since 1970, as versions are: files
 * replaced by then are not found, nor are documents that only those files list.
 */
export interface ViewReader {
  find(org: string, id: string): Promise<ViewRecord | null>
  /** The body of `3.snapshot.json` or `3.targets.json`, byte for byte as it was signed. */
  file(org: string, id: string, name: string, since: number): Promise<Uint8Array | null>
  /** The body of a document that a targets file of this view lists. */
  document(org: string, id: string, path: string, since: number): Promise<Uint8Array | null>
  /** Finds the documents that publishing would have to insert. */
  missing(org: string, documents: readonly DocumentRecord[]): Promise<DocumentRecord[]>
}

/** A view as it is from now on, with the files signed beside the timestamp. */
export interface Publication {
  readonly view: ViewRecord
  /** Null where the timestamp alone is new. */
  readonly files: Pick<PublicationRecord, 'snapshot' | 'targets'> | null
}

/** Publishing changes no decision of a user: it is not audited and raises no revision. */
export interface ViewWriter extends ViewReader {
  /**
   * Inserts documents before `publish` lists them; `publish` inserts those that are still missing.
   * No view serves them until then, and `deleteUnlisted` deletes those that no view has listed
   * since `version`.
   */
  insertAhead(org: string, documents: readonly DocumentRecord[], version: number): Promise<void>
  /** For views of one organization, each of them once. The replaced files stay. */
  publish(org: string, publications: readonly Publication[]): Promise<void>
  /** Has every view of the organization signed whole when it is asked for next. */
  outdateAll(org: string): Promise<void>
  /** Deletes files that were replaced by `since`. */
  deleteReplaced(org: string, id: string, since: number): Promise<void>
  /** Deletes documents that no view has listed since. */
  deleteUnlisted(org: string, since: number): Promise<void>
  /**
   * Deletes the views of the organization whose timestamp no machine has fetched since `before`.
   */
  deleteAbandoned(org: string, before: string): Promise<void>
}

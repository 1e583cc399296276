import type {
  DistributionKeyRecord,
  DocumentRecord,
  PublicationRecord,
  RootRecord,
  ViewRecord,
} from '../distribution-records.ts'

/** What the machines of an organization trust. */
export interface TrustReader {
  /** Oldest first. */
  keys(org: string): Promise<DistributionKeyRecord[]>
  root(org: string, version: number): Promise<RootRecord | null>
  newestRoot(org: string): Promise<RootRecord | null>
}

export interface TrustWriter extends TrustReader {
  insertKey(key: DistributionKeyRecord): Promise<void>
  /** Deletes the key of that id, its private part with it, and inserts the one that follows it. */
  replaceKey(kid: string, next: DistributionKeyRecord): Promise<void>
  /** Keeps the public part of the key alone: the private one is elsewhere from now on. */
  forgetPrivateKey(org: string, kid: string): Promise<void>
  /** Throws `ERR_STORE_CONFLICT` when there is that version. */
  insertRoot(root: RootRecord): Promise<void>
}

/**
 * What is signed for one set of teams. `since` is in seconds since 1970, as versions are: what had
 * been replaced by then is not found, and nor is what only that one lists.
 */
export interface ViewReader {
  find(org: string, id: string): Promise<ViewRecord | null>
  /** The body of `3.snapshot.json` or `3.targets.json`, byte for byte as it was signed. */
  file(org: string, id: string, name: string, since: number): Promise<Uint8Array | null>
  /** The body of a document that a targets file of this view lists. */
  document(org: string, id: string, path: string, since: number): Promise<Uint8Array | null>
  /** Those of the documents that publishing would have to insert. */
  unplaced(org: string, documents: readonly DocumentRecord[]): Promise<DocumentRecord[]>
}

/** A view as it is from now on, with what was signed of it beside the timestamp. */
export interface Publication {
  readonly view: ViewRecord
  /** Null where the timestamp alone is new. */
  readonly files: Pick<PublicationRecord, 'snapshot' | 'targets'> | null
}

/** Publishing changes nothing that anybody decided: none of it is audited or raises a revision. */
export interface ViewWriter extends ViewReader {
  /**
   * Inserts documents before `publish` lists them; it inserts those that are missing by then. No
   * view serves them until then, and `deleteUnlisted` deletes those that none has listed since
   * `version`.
   */
  placeAhead(org: string, documents: readonly DocumentRecord[], version: number): Promise<void>
  /** For views of one organization, each of them once. What these replace stays. */
  publish(org: string, publications: readonly Publication[]): Promise<void>
  /** Has every view of the organization signed whole when it is asked for next. */
  outdateAll(org: string): Promise<void>
  /** Deletes what had been replaced by `since`. */
  deleteReplaced(org: string, id: string, since: number): Promise<void>
  /** Deletes documents that no view has listed since. */
  deleteUnlisted(org: string, since: number): Promise<void>
  /** Deletes the views of the organization that nobody has had a timestamp of since `before`. */
  deleteAbandoned(org: string, before: string): Promise<void>
}

import type {
  DistributionKeyRecord,
  DocumentRecord,
  RootRecord,
  ViewFileRecord,
  ViewRecord,
} from '../records.ts'

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

/** What is signed for one set of teams. */
export interface ViewReader {
  find(org: string, id: string): Promise<ViewRecord | null>
  /** The body of `3.snapshot.json` and the like, current or not long superseded. */
  file(org: string, id: string, name: string): Promise<Uint8Array | null>
  /** The body of a document that this view shows, or did not long ago. */
  document(org: string, id: string, path: string): Promise<Uint8Array | null>
}

/** Publishing changes nothing that anybody decided: none of it is audited or raises a revision. */
export interface ViewWriter extends ViewReader {
  put(view: ViewRecord): Promise<void>
  /** Supersedes, at `at`, the files of the same kind: `3.snapshot.json` those named `….snapshot.json`. */
  putFile(file: ViewFileRecord, at: string): Promise<void>
  /** The view shows exactly these from now on. */
  putDocuments(
    view: Pick<ViewRecord, 'org' | 'id'>,
    documents: readonly DocumentRecord[],
    at: string,
  ): Promise<void>
  /** Deletes what was superseded before `before`, and documents that nobody shows any more. */
  deleteSuperseded(view: Pick<ViewRecord, 'org' | 'id'>, before: string): Promise<void>
  /** Deletes the views of the organization that nobody has had a timestamp of since `before`. */
  deleteAbandoned(org: string, before: string): Promise<void>
}

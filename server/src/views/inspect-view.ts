import type { RootRecord, ViewRecord } from '../store/distribution-records.ts'
import type { OrganizationRecord } from '../store/records.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoreReader } from '../store/store.ts'
import { findDueRole, type Inspection } from './publication/renewal.ts'
import type { ViewBase } from './content/formatted-policies.ts'
import type { ViewContent, ViewContents } from './content/view-content.ts'

/** A set of teams and a base of policies, with the name of their view. */
export interface ViewRef {
  readonly org: string
  readonly id: string
  readonly teams: readonly string[]
  /** The policies that a rollout began with; null for the policies as they are. */
  readonly base: ViewBase | null
}

/** A view with everything in it that was committed before somebody asked. */
export interface FoundView {
  /** `Store.generation` from before the store was asked. */
  readonly generation: number
  /** Revision at which the content was compared last. */
  readonly revision: number
  readonly record: ViewRecord
}

/** The view that a caller asks for. */
export interface ViewRequest {
  readonly viewRef: ViewRef
  /** The view as it was when it was last found. */
  readonly before: FoundView | null
  /** Whether a timestamp that is some minutes old does not do. */
  readonly isRenewal: boolean
}

/** The state of the organization in one snapshot of the store. */
export interface Seen {
  readonly reader: StoreReader
  readonly contents: ViewContents
  readonly organization: OrganizationRecord
  readonly root: RootRecord | null
  /** There is no root, or the next one is to be signed. */
  readonly isRootMissing: boolean
  readonly now: Date
}

/** The view as it is, or the content that it is to hold. */
export type Inspected =
  { readonly content: null; readonly record: ViewRecord } | { readonly content: ViewContent }

/** Reads the policies only when something was changed since they were compared with the view. */
export async function inspectView(
  { reader, contents, organization, now, ...trust }: Seen,
  { viewRef, before, isRenewal }: ViewRequest,
): Promise<Inspected> {
  const record = await reader.views.find(viewRef.org, viewRef.id)
  const isCompared =
    before?.revision === organization.revision &&
    before.record.content_hash === record?.content_hash
  const content = isCompared ? null : await contents.read(reader, organization, viewRef)
  const contentHash = content?.hash ?? record?.content_hash ?? ''
  const nowMs = now.getTime()
  if (record !== null && isNothingDue(record, trust, { contentHash, nowMs, isRenewal }))
    return { content: null, record }
  return { content: content ?? (await contents.read(reader, organization, viewRef)) }
}

/** Throws `ERR_STORE_NOT_FOUND`. */
export async function requireOrganization(
  reader: StoreReader,
  org: string,
): Promise<OrganizationRecord> {
  const organization = await reader.organizations.find(org)
  if (organization !== null) return organization
  throw new StoreError('ERR_STORE_NOT_FOUND', `organization \`${org}\` does not exist`)
}

function isNothingDue(
  record: ViewRecord,
  { root, isRootMissing }: Pick<Seen, 'root' | 'isRootMissing'>,
  inspection: Omit<Inspection, 'root'>,
): boolean {
  if (root === null || isRootMissing) return false
  return findDueRole(record, { root, ...inspection }) === 'nothing'
}

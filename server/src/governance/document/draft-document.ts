import { authorize } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Work } from '../../work/work-budget.ts'
import type { PolicyRecord } from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import type { GovernanceDeps } from '../governance-call.ts'
import { readCurrent, validateDocument, type DocumentCall } from './apply-document.ts'

/** The policies of an organization in force, and as a document would have them. */
export interface DraftedPolicies {
  readonly revision: number
  /** A policy that stays is the same object in both. */
  readonly before: readonly PolicyRecord[]
  readonly after: readonly PolicyRecord[]
  /** Continues while the policies are prepared for their use. */
  readonly work: Work
}

/**
 * Validates a document like `apply`, without applying it. Throws ApiError: 400 with the field of
 * the first fault.
 */
export type DraftDocument = (
  call: Pick<DocumentCall, 'principal' | 'org' | 'json'>,
) => Promise<DraftedPolicies>

export function createDraftDocument(deps: GovernanceDeps): DraftDocument {
  return async ({ principal, org, json }) => {
    const enter = (reader: StoreReader) => authorize(reader, principal, org, 'policies:read')
    const payer = payerOf(principal, await deps.store.read(enter))
    const work = deps.budget.begin(payer)
    try {
      const state = await readCurrent(deps, enter, { affects: () => true, work })
      const otherLoads = () => Promise.resolve([])
      const call = { org, json, query: new Map(), ifMatch: undefined }
      const { plan } = await validateDocument(deps, { ...state, otherLoads }, call, work)
      const { created, updated, deleted } = plan
      const replaced = new Map(updated.map(({ old, policy }) => [old.id, policy]))
      const removed = new Set(deleted.map(({ id }) => id))
      const kept = state.stored.filter(({ id }) => !removed.has(id))
      return {
        work,
        revision: state.revision,
        before: state.stored,
        after: [
          ...kept.map((policy) => replaced.get(policy.id) ?? policy),
          ...created.map(({ policy }) => policy),
        ],
      }
    } finally {
      work.end()
    }
  }
}

import { ClientError, type AppliedDocument, type OrganizationClient } from '@palisade/client'
import type { ApplyResponse, ExportResponse } from '@palisade/protocol'

/** A plan, and the snapshot that it would change; both are of one revision. */
export interface FetchedPlan {
  readonly snapshot: ExportResponse
  readonly plan: ApplyResponse
}

const MAX_ATTEMPTS = 3

/** Retries when a write comes between the two requests. Throws ClientError. */
export async function fetchPlan(
  organization: OrganizationClient,
  document: AppliedDocument,
): Promise<FetchedPlan> {
  for (let attempt = 1; ; attempt += 1) {
    const snapshot = await organization.policySet.export()
    try {
      return { snapshot, plan: await organization.policySet.plan(document, snapshot.revision) }
    } catch (error) {
      const moved = error instanceof ClientError && error.api?.status === 412
      if (!moved || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

import { ClientError, type AppliedDocument, type OrganizationClient } from '@palisade/client'
import type { ApplyResponse, ExportResponse } from '@palisade/protocol'

/** What would change, and the snapshot that it would change in: both of one revision. */
export interface FetchedPlan {
  readonly snapshot: ExportResponse
  readonly plan: ApplyResponse
}

const MAX_ATTEMPTS = 3

/** Asks again when somebody writes between the two questions. Throws ClientError. */
export async function fetchPlan(
  organization: OrganizationClient,
  document: AppliedDocument,
): Promise<FetchedPlan> {
  for (let made = 1; ; made += 1) {
    const snapshot = await organization.policySet.export()
    try {
      return { snapshot, plan: await organization.policySet.plan(document, snapshot.revision) }
    } catch (error) {
      const moved = error instanceof ClientError && error.api?.status === 412
      if (!moved || made === MAX_ATTEMPTS) throw error
    }
  }
}

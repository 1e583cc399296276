import type { AccessGrant, AccessRequest } from '@palisade/protocol'
import type { AccessRequestRecord } from '../../access-records.ts'

/** The wire representation, in answers and in the history. */
export function formatAccessRequest(request: AccessRequestRecord): AccessRequest {
  const { org: _org, due_at: _due, resources, ...shown } = request
  return { ...shown, resources: [...resources], grant: formatGrant(request) }
}

/** The grant as machines have it; null without an approval. */
export function formatGrant({ id, action, grant }: AccessRequestRecord): AccessGrant | null {
  return grant === null ? null : { id, action, ...grant, resources: [...grant.resources] }
}

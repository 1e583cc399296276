import type { AccessRequest, CreateAccessRequest } from '@palisade/protocol'
import { createId } from '../../governance/object-id.ts'
import { formatAccessRequest } from '../../store/aggregates/policies/format-access-request.ts'
import { invalidArgument, limitExceeded } from '../../platform/api-error.ts'
import type { AccessRequestRecord } from '../../store/access-records.ts'
import type { StoreWriter } from '../../store/store.ts'

/** Most requests of one user without an answer. */
const MAX_PENDING = 20

/** The resources have passed `requireGrantable`. Throws ApiError 400 and 403. */
export async function insertRequest(
  deps: { readonly now: () => Date; readonly random: (bytes: number) => Uint8Array },
  writer: StoreWriter,
  asker: Pick<AccessRequestRecord, 'device_id' | 'org' | 'username'>,
  { action, resources, duration_seconds, once = false, reason }: CreateAccessRequest,
): Promise<AccessRequest> {
  const { longest_seconds, answer_within_seconds } = await writer.organizations.access(asker.org)
  requireDuration(duration_seconds, longest_seconds)
  const open = await writer.accessRequests.listOpen(asker.org, asker.username)
  if (open.filter(({ state }) => state === 'pending').length >= MAX_PENDING)
    throw limitExceeded(
      `${MAX_PENDING} requests of the user have no answer yet; withdraw some, or wait`,
    )
  const now = deps.now()
  const request: AccessRequestRecord = {
    ...asker,
    id: createId('acr', now, deps.random),
    state: 'pending',
    action,
    resources,
    duration_seconds,
    once,
    reason,
    created_at: now.toISOString(),
    due_at: new Date(now.getTime() + answer_within_seconds * 1000).toISOString(),
    decided_at: null,
    decided_by: null,
    answer: null,
    grant: null,
  }
  await writer.accessRequests.insert(request)
  return formatAccessRequest(request)
}

/** Throws 400 for a time beyond the longest of the organization, in seconds. */
export function requireDuration(seconds: number, longest: number): void {
  if (seconds > longest)
    throw invalidArgument(
      `\`duration_seconds\` must be at most ${longest}, the longest of this organization`,
      { field: 'duration_seconds' },
    )
}

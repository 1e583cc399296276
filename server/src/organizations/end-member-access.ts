import type { StoreWriter } from '../store/store.ts'

/**
 * Revokes the grants of a member who leaves, and rejects the requests: they would count again if
 * the user joined again.
 */
export async function endMemberAccess(
  writer: StoreWriter,
  { org, username }: { readonly org: string; readonly username: string },
  { now, actor }: { readonly now: Date; readonly actor: string },
): Promise<void> {
  const decision = {
    due_at: null,
    decided_at: now.toISOString(),
    decided_by: actor,
    answer: 'the user has left the organization',
  }
  for (const request of await writer.accessRequests.listOpen(org, username)) {
    const state = request.state === 'approved' ? 'revoked' : 'rejected'
    await writer.accessRequests.update({ ...request, ...decision, state }, request.state)
  }
}

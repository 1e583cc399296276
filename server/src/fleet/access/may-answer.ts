import { requireWholePerson, type Access } from '../../identity/authorize.ts'
import { formatUser, type Principal } from '../../identity/principal.ts'
import { notFound, permissionDenied } from '../../platform/api-error.ts'
import type { AccessRequestRecord } from '../../store/access-records.ts'
import type { StoreReader } from '../../store/store.ts'

export interface Asker {
  readonly principal: Principal
  readonly access: Access
}

/** The request, where the caller may see it. Throws 404. */
export async function findSeenRequest(
  reader: StoreReader,
  { principal, access }: Asker,
  id: string,
): Promise<AccessRequestRecord> {
  const org = access.organization.name
  const request = await reader.accessRequests.find(org, id)
  if (request === null || !(await maySee(reader, { principal, access }, request)))
    throw notFound('access request not found')
  return request
}

async function maySee(
  reader: StoreReader,
  { principal, access }: Asker,
  { org, username }: AccessRequestRecord,
): Promise<boolean> {
  if (access.permissions.includes('policies:read')) return true
  if (principal.kind !== 'user') return false
  if (principal.username === username) return true
  return reader.accessRequests.isApproverOf(org, principal.username, username)
}

/**
 * Whether the caller answers requests of the user: an owner or editor, or an approver of a team
 * that the user is in. One's own requests are answered by others, but for those of an owner, who
 * could as well write a policy. Nor does a token answer that the user has made.
 */
export async function mayAnswer(
  reader: StoreReader,
  { principal, access }: Asker,
  { org, username }: Pick<AccessRequestRecord, 'org' | 'username'>,
): Promise<boolean> {
  const mayWrite = access.permissions.includes('policies:write')
  if (principal.kind === 'organization') {
    const token = await reader.accessTokens.find(principal.tokenId)
    return mayWrite && token?.created_by !== formatUser(username)
  }
  if (principal.username === username) return mayWrite && access.role === 'owner'
  return mayWrite || reader.accessRequests.isApproverOf(org, principal.username, username)
}

/**
 * Throws 403 for a token with fewer permissions than its user: an approver without `policies:write`
 * answers as the whole person. Comes before any look at a request.
 */
export async function requireWholeApprover(
  reader: StoreReader,
  { principal, access }: Asker,
): Promise<void> {
  if (principal.kind === 'user' && !access.permissions.includes('policies:write'))
    await requireWholePerson(reader, principal)
}

/** Throws 403 for a caller who may not answer requests of the user. */
export async function requireMayAnswer(
  reader: StoreReader,
  asker: Asker,
  request: AccessRequestRecord,
): Promise<void> {
  if (await mayAnswer(reader, asker, request)) return
  const { principal } = asker
  const isOwn = principal.kind === 'user' && principal.username === request.username
  throw permissionDenied(
    isOwn
      ? 'your own request is answered by another owner, editor or approver'
      : 'this needs the permission `policies:write`, or an approver of a team of the requester',
  )
}

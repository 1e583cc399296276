import type { Permission, Role } from '@palisade/protocol'
import { notFound, permissionDenied } from '../platform/api-error.ts'
import type { OrganizationRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import type { Principal, UserPrincipal } from './principal.ts'
import { missingPermissions, permissionsOf } from './roles.ts'

/** What a caller may do in one organization, as of one snapshot of the store. */
export interface Access {
  readonly organization: OrganizationRecord
  /** Null for an organization token. */
  readonly role: Role | null
  /** The role's permissions within those of the credential. */
  readonly permissions: readonly Permission[]
}

/**
 * Lets the caller into an organization, or throws ApiError in the order of the check list: 404
 * when there is no such organization or he is not in it (one answer, so that nobody learns which
 * organizations exist), then 403 when he lacks `permission`, then 403 when a `policies:` permission
 * was asked of an organization without governance.
 *
 * Null asks for membership alone; a caller who then shows policies must `requireEntitled`.
 */
export async function authorize(
  reader: StoreReader,
  principal: Principal,
  orgName: string,
  permission: Permission | null,
): Promise<Access> {
  const access = await findAccess(reader, principal, orgName)
  if (access === null) throw notFound('organization not found')
  if (permission === null) return access
  requirePermission(access, permission)
  if (permission === 'policies:read' || permission === 'policies:write')
    requireEntitled(access.organization)
  return access
}

/** Throws 403 for a caller without it. */
export function requirePermission(
  { permissions }: Pick<Access, 'permissions'>,
  permission: Permission,
): void {
  if (!permissions.includes(permission))
    throw permissionDenied(`this needs the permission \`${permission}\``)
}

/**
 * Throws 403 for a credential that leaves out permissions of its person's role: such a token acts
 * within its permissions and not for the person, whose machines outlive it.
 */
export function requireWholeRole({
  role,
  permissions,
}: Pick<Access, 'role' | 'permissions'>): void {
  const [missing] = role === null ? [] : missingPermissions(permissionsOf(role), permissions)
  if (missing !== undefined)
    throw permissionDenied(
      `this token leaves out \`${missing}\`, which your role has; sign in with your password`,
    )
}

/**
 * Throws 403 for a token that leaves out what its user may do anywhere, or that has no permissions:
 * a plain member has none to leave out, so such a token would otherwise act for the person.
 */
export async function requireWholePerson(
  reader: StoreReader,
  { username, tokenId, permissions }: UserPrincipal,
): Promise<void> {
  if (tokenId !== null && permissions.length === 0)
    throw permissionDenied('this token has no permissions; sign in with your password')
  for (const { role } of await reader.memberships.listOfUser(username)) {
    const [missing] = missingPermissions(permissionsOf(role), permissions)
    if (missing !== undefined)
      throw permissionDenied(
        `this token leaves out \`${missing}\`, which you have; sign in with your password`,
      )
  }
}

/** Throws 403 for an organization that may not use governance. */
export function requireEntitled(organization: OrganizationRecord): void {
  if (!organization.entitled)
    throw permissionDenied(
      `organization \`${organization.name}\` is not entitled to use governance`,
    )
}

async function findAccess(
  reader: StoreReader,
  principal: Principal,
  orgName: string,
): Promise<Access | null> {
  const organization = await reader.organizations.find(orgName)
  if (organization === null) return null
  if (principal.kind === 'organization')
    return principal.org === orgName
      ? { organization, role: null, permissions: principal.permissions }
      : null
  const membership = await reader.memberships.find(orgName, principal.username)
  if (membership === null) return null
  const { role } = membership
  return { organization, role, permissions: within(permissionsOf(role), principal.permissions) }
}

/** Most credentials leave a role whole, and then there is nothing to be made for each request. */
function within(held: readonly Permission[], bound: readonly Permission[]): readonly Permission[] {
  const isBound = (permission: Permission) => bound.includes(permission)
  return held.every(isBound) ? held : held.filter(isBound)
}

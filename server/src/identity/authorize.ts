import type { Permission, Role } from '@palisade/protocol'
import { notFound, permissionDenied } from '../platform/api-error.ts'
import type { OrganizationRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import type { Principal, UserPrincipal } from './principal.ts'
import { missingPermissions, permissionsOf } from './roles.ts'

/** The rights of a caller in one organization, as of one snapshot of the store. */
export interface Access {
  readonly organization: OrganizationRecord
  /** Null for an organization token. */
  readonly role: Role | null
  /** The role's permissions within those of the credential. */
  readonly permissions: readonly Permission[]
}

/**
 * Checks the access of a caller to an organization. Throws ApiError in this order: 404 for an
 * unknown organization or a caller outside it (the same answer, so that callers cannot probe for
 * organizations); 403 for a missing `permission`; 403 for a `policies:` permission in an
 * organization without governance.
 *
 * A `permission` of null requires membership alone. Code that then shows policies must call
 * `requireEntitled`.
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

/** Throws 403 for a caller without the permission. */
export function requirePermission(
  { permissions }: Pick<Access, 'permissions'>,
  permission: Permission,
): void {
  if (!permissions.includes(permission))
    throw permissionDenied(`this needs the permission \`${permission}\``)
}

/**
 * Throws 403 for a credential that lacks permissions of its user's role. Such a token is bounded
 * by its permissions and must not act for the whole user, whose machines outlive the token.
 */
export function requireWholeRole({
  role,
  permissions,
}: Pick<Access, 'role' | 'permissions'>): void {
  const [missing] = role === null ? [] : missingPermissions(permissionsOf(role), permissions)
  if (missing !== undefined)
    throw permissionDenied(
      `this token lacks \`${missing}\`, which your role has; sign in with your password`,
    )
}

/** The user that the caller is. Throws 403 for an organization token. */
export function requirePerson(principal: Principal): UserPrincipal {
  if (principal.kind === 'user') return principal
  throw permissionDenied('an organization token is not a user; sign in as a user')
}

/**
 * Throws 403 for a token that lacks a permission its user has in any organization, or that has no
 * permissions at all. The second check is for plain members: their role has no permissions that a
 * token could lack, so an empty token would otherwise act for the whole user.
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
        `this token lacks \`${missing}\`, which you have; sign in with your password`,
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

/** Returns `held` itself where `bound` covers it: the usual case, which then allocates nothing. */
function within(held: readonly Permission[], bound: readonly Permission[]): readonly Permission[] {
  const isBound = (permission: Permission) => bound.includes(permission)
  return held.every(isBound) ? held : held.filter(isBound)
}

import { PERMISSIONS, type Permission, type Role } from '@palisade/protocol'

const HELD: Readonly<Record<Role, readonly Permission[]>> = {
  owner: PERMISSIONS,
  editor: ['policies:read', 'policies:write'],
  auditor: ['policies:read', 'audit:read'],
  member: [],
}

/** The permissions of a role in its organization. */
export function permissionsOf(role: Role): readonly Permission[] {
  return HELD[role]
}

/** The permissions of `wanted` that are not in `held`, in the order of `wanted`. */
export function missingPermissions(
  wanted: readonly Permission[],
  held: readonly Permission[],
): Permission[] {
  return wanted.filter((permission) => !held.includes(permission))
}

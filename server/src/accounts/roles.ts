import { PERMISSIONS, type Permission, type Role } from '@palisade/protocol'

/** What a role may do in its organization. */
export function permissionsOf(role: Role): readonly Permission[] {
  switch (role) {
    case 'owner':
      return PERMISSIONS
    case 'editor':
      return ['policies:read', 'policies:write']
    case 'auditor':
      return ['policies:read', 'audit:read']
    case 'member':
      return []
  }
}

/** The permissions of `wanted` that are not in `held`, in the order asked. */
export function missingPermissions(
  wanted: readonly Permission[],
  held: readonly Permission[],
): Permission[] {
  return wanted.filter((permission) => !held.includes(permission))
}

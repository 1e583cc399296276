import { checkRule, isFilesystemAction } from '@palisade/policy-core'
import { accessGrantSchema, type AccessGrant } from '@palisade/protocol'
import type { Assignment } from './trust/assignment.ts'

/** The access grants of an assignment. */
export interface AssignedGrants {
  readonly grants: readonly AccessGrant[]
  /** The number of grants without effect, because this version cannot read them. */
  readonly unreadable: number
}

export const NO_ACCESS: AssignedGrants = { grants: [], unreadable: 0 }

/** Reads each grant by itself, because one of a later version must not close the others. */
export function readGrants({
  user,
  grants = [],
}: Pick<Assignment, 'user' | 'grants'>): AssignedGrants {
  // A grant is for a user, so a device without one has no grants.
  if (user === null) return { ...NO_ACCESS, unreadable: grants.length }
  const read = new Map<string, AccessGrant>()
  for (const each of grants) {
    const grant = accessGrantSchema.safeParse(each).data
    if (grant !== undefined && !read.has(grant.id) && isUsable(grant)) read.set(grant.id, grant)
  }
  return { grants: [...read.values()], unreadable: grants.length - read.size }
}

/** One unusable resource closes the whole grant: its approver has seen all of it. */
function isUsable({ action, resources, once }: AccessGrant): boolean {
  // A use of a path has no moment that could spend the grant.
  if (once === true && isFilesystemAction(action)) return false
  return checkRule({ actions: [action], decision: 'allow', resources }).length === 0
}

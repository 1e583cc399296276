import type { PathDenies } from '@palisade/policy-core'
import { realPathOrNull, type ViewDisk } from './disk.ts'
import type { HeldPath } from './held-path.ts'
import type { Area } from './masks.ts'
import { isWithin } from './mount-table.ts'

/**
 * The existing paths in the areas that a rule denies without a wildcard, also those that the rule
 * names through a symbolic link. No walk reads the system tree, so they are all that is held there.
 */
export function literalHolds(
  denies: PathDenies,
  areas: readonly Area[],
  disk: ViewDisk,
): HeldPath[] {
  return denies.literals.flatMap((literal): HeldPath[] => {
    const path = realPathOrNull(disk, literal)
    if (path === null || !areas.some((area) => isWithin(path, area.path))) return []
    const status = disk.status(path)
    if (status === null || path === '/') return []
    const hold = denies.at(literal).denies.read ? 'hidden' : 'read-only'
    const kind = status.kind === 'directory' ? 'directory' : 'file'
    return [{ path, hold, kind, isDenied: true }]
  })
}

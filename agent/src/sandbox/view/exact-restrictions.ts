import type { PathDenies, Steps } from '@palisade/policy-core'
import { realPathOrNull, statusOrNull, type ViewDisk } from './disk.ts'
import { restrictionOf, type RestrictedPath } from './path-restriction.ts'
import type { Area } from './masks.ts'
import { isWithin } from './mount-table.ts'

/**
 * The existing paths in the areas that a rule denies without a wildcard, also those that the rule
 * names through a symbolic link. No walk reads the system tree, so they are all that is held there.
 */
export function* exactRestrictions(
  denies: PathDenies,
  areas: readonly Area[],
  disk: ViewDisk,
): Steps<RestrictedPath[]> {
  const restricted: RestrictedPath[] = []
  for (const literal of denies.literals) {
    yield
    const path = realPathOrNull(disk, literal)
    if (path === null || path === '/') continue
    if (!areas.some((area) => isWithin(path, area.path))) continue
    const kind = statusOrNull(disk, path)?.kind === 'directory' ? 'directory' : 'file'
    const level = restrictionOf(denies.at(literal).denies) ?? 'read-only'
    restricted.push({ path, level, kind, isDenied: true })
  }
  return restricted
}

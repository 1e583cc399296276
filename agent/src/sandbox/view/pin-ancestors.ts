import { dirname } from 'node:path'
import { PACKAGES, type RestrictedPath } from './path-restriction.ts'
import { isWithin } from './mount-table.ts'
import type { Workspace } from './workspace.ts'

/**
 * The directories between a writable workspace and a held path or an inner workspace, which must
 * keep their names. A command that renames one could make the held name anew in its place, and no
 * rule may deny the path that the held object has then. Guarded names in packages do without,
 * because package managers rename packages to replace them: `KnownNames` tells a directory from
 * another one.
 */
export function pinAncestors(
  restricted: readonly RestrictedPath[],
  workspaces: readonly Workspace[],
): readonly RestrictedPath[] {
  const pins = new Map<string, RestrictedPath>()
  // An inner workspace is a mount itself, and the next one above has those of its own.
  const inner = workspaces.map(({ path }) => ({ path, isDenied: true }))
  for (const { path, isDenied } of [...restricted, ...inner]) {
    const workspace = workspaces.findLast((each) => each.path !== path && isWithin(path, each.path))
    if (workspace?.access !== 'rw') continue
    if (!isDenied && path.slice(workspace.path.length).includes(PACKAGES)) continue
    for (let above = dirname(path); above !== workspace.path; above = dirname(above)) {
      if (pins.has(above)) break
      pins.set(above, { path: above, level: 'pinned', kind: 'directory', isDenied: false })
    }
  }
  return [...pins.values()]
}

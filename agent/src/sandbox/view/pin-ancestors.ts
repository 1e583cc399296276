import type { PathDenies } from '@palisade/policy-core'
import { dirname } from 'node:path'
import { holdOf, type HeldPath } from './held-path.ts'
import { isWithin } from './mount-table.ts'
import type { Workspace } from './workspace.ts'

/** Stands for any name that no rule spells. */
const OTHER_NAME = 'palisade-another-name'

/**
 * The directories between a workspace and a denied path that must keep their names: with another
 * name for the directory, no rule would deny the path, and the next sandbox would show it.
 */
export function pinAncestors(
  held: readonly HeldPath[],
  workspaces: readonly Workspace[],
  denies: PathDenies,
): readonly HeldPath[] {
  const pins = new Map<string, HeldPath>()
  for (const each of held) {
    const workspace = workspaces.findLast(({ path }) => isWithin(each.path, path))
    if (!each.isDenied || workspace?.access !== 'rw') continue
    for (
      let above = dirname(each.path);
      above !== workspace.path && isWithin(above, workspace.path);
      above = dirname(above)
    ) {
      if (pins.has(above) || isDeniedBelow(above, each, denies)) continue
      pins.set(above, { path: above, hold: 'pinned', kind: 'directory', isDenied: false })
    }
  }
  return [...pins.values()]
}

/** Whether the path is denied alike when the directory above it has another name. */
function isDeniedBelow(above: string, { path, hold }: HeldPath, denies: PathDenies): boolean {
  const renamed = `${dirname(above)}/${OTHER_NAME}${path.slice(above.length)}`
  const found = holdOf(denies.at(renamed).denies)
  return hold === 'hidden' ? found === 'hidden' : found !== null
}

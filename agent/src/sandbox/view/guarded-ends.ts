import type { Steps } from '@palisade/policy-core'
import { realPathOrNull } from './disk.ts'
import { walkWorkspace } from './walk.ts'
import type { WalkDeps } from './walk-deps.ts'
import type { Workspace } from './workspace.ts'

/**
 * The ends of symbolic links with a name that is held against writing. Programs outside obey them
 * under that name, so the review of a strict sandbox refuses them as the names themselves.
 */
export function* guardedEnds(
  workspaces: readonly Workspace[],
  walk: WalkDeps,
): Steps<readonly string[]> {
  const others = new Set(workspaces.map(({ path }) => path))
  const ends = new Set<string>()
  for (const workspace of workspaces) {
    if (workspace.access !== 'rw') continue
    const { restrictedLinks } = yield* walkWorkspace(
      { workspace, path: workspace.path, others },
      walk,
    )
    for (const link of restrictedLinks) {
      const end = realPathOrNull(walk.disk, link)
      if (end !== null) ends.add(end)
    }
  }
  return [...ends]
}

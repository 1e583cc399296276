import { basename, dirname } from 'node:path'
import { statusOrNull } from './disk.ts'
import { HOOKS } from './guarded-names.ts'
import { isInRepository, REPOSITORY, REPOSITORY_MARKS } from './repository.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import type { WalkDeps } from './walk-deps.ts'
import type { Workspace } from './workspace.ts'

type DirectoryDeps = Pick<WalkDeps, 'disk' | 'guarded' | 'isOpened'>

/**
 * Throws `ViewRefusal` for a writable workspace in a directory that programs outside obey, such as
 * `.git/hooks`: the guard holds names of a workspace, and not the content of such a directory.
 */
export function refuseGuardedDirectories(
  workspaces: readonly Workspace[],
  deps: DirectoryDeps,
): void {
  for (const { path, access } of workspaces) {
    if (access !== 'rw' || deps.isOpened(path)) continue
    const guardedPath = directoriesOf(path).find((each) => isGuardedDirectory(each, deps))
    if (guardedPath === undefined || isProjectIn(guardedPath, path, deps)) continue
    throw new ViewRefusal(
      `the workspace ${quotePath(path)} ` +
        `${guardedPath === path ? 'is' : `lies in ${quotePath(guardedPath)},`} a directory that ` +
        'programs outside obey; choose the directory of the project, write ' +
        `${quotePath(`${path}:ro`)} to read it only, or ask an editor of the policy for ` +
        quotePath(`allow write ${path}/**`),
    )
  }
}

/** The directory and those above it, outermost first. */
function directoriesOf(path: string): readonly string[] {
  const names = path.split('/').slice(1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}

/** Hooks are guarded in a repository of any name, too. */
function isGuardedDirectory(path: string, { disk, guarded }: DirectoryDeps): boolean {
  if (guarded.at(path).denies.write) return true
  if (basename(path) !== HOOKS) return false
  return REPOSITORY_MARKS.every((mark) => statusOrNull(disk, `${dirname(path)}/${mark}`) !== null)
}

/** Coding agents keep working trees in their directories; each is a project of its own. */
function isProjectIn(directory: string, path: string, { disk }: DirectoryDeps): boolean {
  if (isInRepository(directory)) return false
  const below = directoriesOf(path).filter((each) => each.startsWith(`${directory}/`))
  return below.some((each) => statusOrNull(disk, `${each}/${REPOSITORY}`) !== null)
}

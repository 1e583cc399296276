import { basename, dirname, join, resolve } from 'node:path/posix'
import { realPathOrNull, type ViewDisk } from './disk.ts'
import { quotePath } from './view-refusal.ts'
import type { Workspace } from './workspace.ts'

/** The paths as they are spelled, and as they lead: a workspace has its real path. */
export function spellingsOf(
  paths: readonly string[],
  disk: Pick<ViewDisk, 'realPath'>,
): readonly string[] {
  const spelled = paths.map((path) => resolve(path))
  return [...new Set(spelled.flatMap((path) => [path, realPathOf(path, disk)]))]
}

/** The real path of the nearest directory that exists, with the names below it. */
function realPathOf(path: string, disk: Pick<ViewDisk, 'realPath'>): string {
  const real = realPathOrNull(disk, path)
  if (real !== null || path === '/') return real ?? path
  return join(realPathOf(dirname(path), disk), basename(path))
}

/** Sentences about workspaces that are such a path themselves. Their files cannot be held. */
export function warnOfObeyedWorkspaces(
  paths: readonly string[],
  workspaces: readonly Pick<Workspace, 'path' | 'access' | 'isStaged'>[],
): readonly string[] {
  return workspaces
    .filter(({ access, isStaged }) => access === 'rw' || isStaged === true)
    .filter(({ path }) => paths.includes(path))
    .map(
      ({ path }) =>
        `git outside obeys files of the workspace ${quotePath(path)} itself, which the command ` +
        'can change; change `core.hooksPath` or `include.path`',
    )
}

import { normalize } from 'node:path/posix'
import { realPathOrNull, type ViewDisk } from './disk.ts'
import { isWithin } from './mount-table.ts'
import type { Mount } from './mount.ts'
import type { WorkspaceRequest } from './workspace.ts'

type Link = Extract<Mount, { readonly kind: 'symlink' }>

/**
 * The links by which the caller named the workspaces, since scripts of a project hold the path that
 * the person uses. A link opens nothing, and is made only where the view is empty: a mount shows
 * its own links.
 */
export function planCallerLinks(
  requests: readonly WorkspaceRequest[],
  mounts: readonly Pick<Mount, 'kind' | 'target'>[],
  disk: Pick<ViewDisk, 'realPath'>,
): readonly Link[] {
  const links = new Map<string, Link>()
  for (const target of requests.map(({ path }) => withoutSlash(normalize(path))).toSorted()) {
    // After a link, `..` leads elsewhere than the text says; then the text is another directory.
    const to = realPathOrNull(disk, target)
    if (to === null || to === target || !isFree(target, mounts)) continue
    if (![...links.keys()].some((known) => isWithin(target, known)))
      links.set(target, { kind: 'symlink', target, to })
  }
  return [...links.values()]
}

/** Whether the path is in a file system of the sandbox alone, with no mount at or below it. */
function isFree(path: string, mounts: readonly Pick<Mount, 'kind' | 'target'>[]): boolean {
  if (mounts.some(({ target }) => isWithin(target, path))) return false
  const above = mounts.filter(({ target }) => isWithin(path, target))
  return above.every(({ kind }) => kind === 'tmpfs' || kind === 'dir')
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

import { systemErrorCode } from '../../host/errors.ts'
import { HostConflict, openHostTree, type HostTree } from '../staged/host-tree.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import type { Workspace } from '../view/workspace.ts'

/**
 * Takes the object at the path away by `work`. The tree follows no symbolic link, because the
 * command may replace any directory meanwhile. Throws `ViewRefusal` when the system refuses it.
 */
export function inHostTree<T>(
  workspace: Pick<Workspace, 'path' | 'device' | 'inode'>,
  path: string,
  work: (tree: HostTree) => T,
): T {
  try {
    const tree = openHostTree(workspace)
    try {
      return work(tree)
    } finally {
      tree.close()
    }
  } catch (error) {
    const code = error instanceof HostConflict ? error.message : systemErrorCode(error)
    if (code === null) throw error
    throw new ViewRefusal(`${quotePath(path)} cannot be taken away (${code})`, error)
  }
}

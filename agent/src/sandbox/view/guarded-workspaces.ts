import type { ViewDisk } from './disk.ts'
import type { WalkStart } from './walk-deps.ts'
import { isWithin } from './mount-table.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import { isSameObject, type WatchableDirectory } from './watches.ts'
import type { Workspace } from './workspace.ts'

/** The workspaces of a running sandbox, by the directories that were there at its start. */
export class GuardedWorkspaces {
  readonly all: readonly Workspace[]
  readonly #disk: Pick<ViewDisk, 'status'>
  readonly #paths: ReadonlySet<string>

  constructor(all: readonly Workspace[], disk: Pick<ViewDisk, 'status'>) {
    this.all = all
    this.#disk = disk
    this.#paths = new Set(all.map(({ path }) => path))
  }

  /** The innermost workspace in which the path is. */
  of(path: string): Workspace | undefined {
    return this.all.findLast((each) => isWithin(path, each.path))
  }

  /** Whether the path is that of a workspace itself. */
  has(path: string): boolean {
    return this.#paths.has(path)
  }

  /** Whether the directory is still at its path. */
  isThere(directory: WatchableDirectory): boolean {
    const status = this.#disk.status(directory.path)
    return status !== null && isSameObject(status, directory)
  }

  /**
   * Throws `ViewRefusal` unless each workspace is at its path: the sandbox goes on with the
   * directory that it has, whose path the agent would not know.
   */
  requireAll(): void {
    for (const { path, device, inode } of this.all) {
      if (!this.isThere({ path, device, inode }))
        throw new ViewRefusal(`the workspace ${quotePath(path)} was moved or replaced`)
    }
  }

  /** A walk of the workspace that begins at the path. */
  startAt(workspace: Workspace, path: string): WalkStart {
    return { workspace, path, others: this.#paths }
  }
}

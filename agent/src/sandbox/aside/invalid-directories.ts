import { renameSync } from 'node:fs'
import { unlessMissing } from '../view/disk.ts'
import type { InvalidDirectory } from '../view/walk-deps.ts'
import { join } from '../view/mount-table.ts'
import { ViewRefusal } from '../view/view-refusal.ts'
import type { Workspace } from '../view/workspace.ts'
import { inHostTree } from './in-host-tree.ts'
import type { LastDisk } from './last-disk.ts'
import type { KeptAside } from './kept-aside.ts'
import { MARK } from './set-aside.ts'

export interface InvalidDirectoriesDeps {
  /** Directories that were there before the command. */
  readonly known: readonly InvalidDirectory[]
  readonly workspaceOf: (path: string) => Workspace | undefined
  /** Short, of a-z and 0-9. */
  readonly randomName: () => string
  readonly onAside: (kept: KeptAside) => void
}

/**
 * Directories with names that are not UTF-8. The agent does not look into them, and git does, so
 * those of the command get another name at its end, under which they are looked at.
 */
export class InvalidDirectories {
  readonly #deps: InvalidDirectoriesDeps
  readonly #known: Set<string>
  #met: InvalidDirectory[] = []

  constructor(deps: InvalidDirectoriesDeps) {
    this.#deps = deps
    this.#known = new Set(deps.known.map(keyOf))
  }

  meet(found: InvalidDirectory): void {
    const key = keyOf(found)
    if (this.#known.has(key)) return
    this.#known.add(key)
    this.#met.push(found)
  }

  /** Renames those that were met. Returns the new paths. */
  takeMet(disk: LastDisk, onProblem: (problem: string) => void): readonly string[] {
    const met = this.#met
    this.#met = []
    return met.flatMap((found) => {
      try {
        disk.openAbove(`${found.directory}/`)
        return this.#take(found) ?? []
      } catch (error) {
        if (!(error instanceof ViewRefusal)) throw error
        onProblem(error.message)
        return []
      }
    })
  }

  #take({ directory, bytes }: InvalidDirectory): string | null {
    const { onAside, randomName, workspaceOf } = this.#deps
    const workspace = workspaceOf(directory)
    if (workspace === undefined) return null
    // A command that knew the name could take it first.
    const name = `${MARK}-${randomName()}`
    const aside = join(directory, `/${name}`)
    const path = join(directory, `/${bytes.toString('utf8')}`)
    const above = directory.split('/').slice(workspace.path.split('/').length)
    const isDone = inHostTree(workspace, path, (tree) =>
      tree.inParent([...above, name], (at) =>
        unlessMissing(() => {
          renameSync(Buffer.concat([Buffer.from(at('')), bytes]), at(name))
          return true
        }),
      ),
    )
    if (isDone !== true) return null
    onAside({ path, aside, cause: 'invalid' })
    return aside
  }
}

function keyOf({ directory, bytes }: InvalidDirectory): string {
  return `${directory}/${bytes.toString('latin1')}`
}

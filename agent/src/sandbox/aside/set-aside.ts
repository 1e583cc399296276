import { chmodSync, lstatSync, renameSync, statSync } from 'node:fs'
import { systemErrorCode } from '../../errors.ts'
import { HostConflict, openHostTree, type HostTree, type PathOf } from '../staged/host-tree.ts'
import { unlessMissing } from '../view/disk.ts'
import { join } from '../view/mount-table.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import type { Workspace } from '../view/workspace.ts'

const SUFFIX = '.refused-by-palisade'
/** A command that makes one name more often than this is ended. */
const MAX_COPIES = 100
const MAX_NAME_BYTES = 200

/** Errors of a rename whose target exists. */
const TAKEN: ReadonlySet<string> = new Set(['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR'])

/**
 * Gives the object another name, under which no program obeys it, so that people can read it and
 * take it back. It stays in its directory, or goes to the nearest one above where `isHeld` does not
 * hold for the new path. Returns that path; null when the object is gone.
 *
 * The command may replace any directory meanwhile, so no look-up follows a symbolic link. Throws
 * `ViewRefusal` when the object cannot be renamed.
 */
export function setAside(
  path: string,
  workspace: Pick<Workspace, 'path' | 'device' | 'inode'>,
  isHeld: (path: string) => boolean,
): string | null {
  const names = path.slice(workspace.path.length + 1).split('/')
  try {
    const tree = openHostTree(workspace)
    try {
      return (
        moveAside(names, tree, (to) => isHeld(join(workspace.path, `/${to.join('/')}`)))?.reduce(
          (at, name) => join(at, `/${name}`),
          workspace.path,
        ) ?? null
      )
    } finally {
      tree.close()
    }
  } catch (error) {
    const code = error instanceof HostConflict ? error.message : systemErrorCode(error)
    if (code === null) throw error
    throw new ViewRefusal(`${quotePath(path)} cannot be taken away (${code})`, error)
  }
}

/** The names of the new path below the workspace. */
function moveAside(
  names: readonly string[],
  tree: HostTree,
  isHeld: (names: readonly string[]) => boolean,
): readonly string[] | null {
  const name = names.at(-1) ?? ''
  for (let copy = 1; copy <= MAX_COPIES; copy += 1) {
    const aside = `${shorten(name)}${SUFFIX}${copy === 1 ? '' : `-${copy}`}`
    const to = placeOf(names, aside, isHeld)
    if (tree.status(to) !== null) continue
    try {
      const isDone = tree.inParent(names, (from) => {
        if (unlessMissing(() => lstatSync(from(name))) === undefined) return false
        return tree.inParent(to, (at) => renameIn(from, name, at(aside))) ?? false
      })
      return isDone === true ? to : null
    } catch (error) {
      if (!TAKEN.has(systemErrorCode(error) ?? '')) throw error
    }
  }
  throw new ViewRefusal(`the command made ${quotePath(name)} more than ${MAX_COPIES} times`)
}

/** A name has 255 bytes at most. */
function shorten(name: string): string {
  let short = name
  while (Buffer.byteLength(short) > MAX_NAME_BYTES) short = short.slice(0, -1)
  return short.toWellFormed()
}

function placeOf(
  names: readonly string[],
  aside: string,
  isHeld: (names: readonly string[]) => boolean,
): readonly string[] {
  for (let length = names.length - 1; length >= 0; length -= 1) {
    const to = [...names.slice(0, length), aside]
    if (!isHeld(to)) return to
  }
  return [...names.slice(0, -1), aside]
}

/** Renames although the command closed the directory. False when the object is gone. */
function renameIn(from: PathOf, name: string, to: string): boolean {
  const rename = (): boolean => unlessMissing(() => (renameSync(from(name), to), true)) === true
  try {
    return rename()
  } catch (error) {
    if (systemErrorCode(error) !== 'EACCES') throw error
  }
  const { mode } = statSync(from('.'))
  chmodSync(from('.'), (mode & 0o7777) | 0o700)
  try {
    return rename()
  } finally {
    chmodSync(from('.'), mode & 0o7777)
  }
}

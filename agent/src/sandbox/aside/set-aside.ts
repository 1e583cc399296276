import { chmodSync, lstatSync, renameSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { systemErrorCode } from '../../host/errors.ts'
import { HostConflict, type HostTree, type PathOf } from '../staged/host-tree.ts'
import { unlessMissing } from '../view/disk.ts'
import { join } from '../view/mount-table.ts'
import type { Workspace } from '../view/workspace.ts'
import { inHostTree } from './in-host-tree.ts'

export const MARK = 'refused-by-palisade'

const HIDDEN_MARK = 'hidden-by-palisade'

/**
 * Whether the path has a name that `setAside` gives to an object that a rule denies to read. No
 * rule need match the new name, so sandboxes hide every such name.
 */
export function isHiddenAside(path: string): boolean {
  return basename(path).includes(HIDDEN_MARK)
}

/** Names that are tried. A command could take those without a random part first. */
const PLAIN_NAMES = 9
const MAX_NAMES = 20
const MAX_NAME_BYTES = 200

/** Errors of a rename whose target exists. */
const TAKEN: ReadonlySet<string> = new Set(['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR'])

export interface AsideDeps {
  /** Whether a rule denies to read it. */
  readonly isHidden: boolean
  /** Whether a rule or the guard keeps a command from making the path. */
  readonly isHeld: (path: string) => boolean
  /** Short, of a-z and 0-9. */
  readonly randomName: () => string
}

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
  { isHeld, isHidden, randomName }: AsideDeps,
): string | null {
  const names = path.slice(workspace.path.length + 1).split('/')
  const pathOf = (to: readonly string[]): string => join(workspace.path, `/${to.join('/')}`)
  const isHeldAt = (to: readonly string[]): boolean => isHeld(pathOf(to))
  const to = inHostTree(workspace, path, (tree) =>
    moveAside(names, tree, { isHeld: isHeldAt, isHidden, randomName }),
  )
  return to === null ? null : pathOf(to)
}

/** The names of the new path below the workspace. */
function moveAside(
  names: readonly string[],
  tree: HostTree,
  {
    isHeld,
    isHidden,
    randomName,
  }: Pick<AsideDeps, 'isHidden' | 'randomName'> & {
    readonly isHeld: (names: readonly string[]) => boolean
  },
): readonly string[] | null {
  const name = names.at(-1) ?? ''
  for (let copy = 1; copy <= MAX_NAMES; copy += 1) {
    const ending = copy === 1 ? '' : `-${copy <= PLAIN_NAMES ? copy : randomName()}`
    const to = freeNameOf(names, `${isHidden ? HIDDEN_MARK : MARK}${ending}`, isHeld)
    if (tree.status(to) !== null) continue
    try {
      const isDone = tree.inParent(names, (from) => {
        if (unlessMissing(() => lstatSync(from(name))) === undefined) return false
        return tree.inParent(to, (at, aside) => renameIn(from, name, at(aside))) ?? false
      })
      return isDone === true ? to : null
    } catch (error) {
      if (!TAKEN.has(systemErrorCode(error) ?? '')) throw error
    }
  }
  throw new HostConflict('no other name is free')
}

/** A name has 255 bytes at most. */
function shorten(name: string): string {
  let short = name
  while (Buffer.byteLength(short) > MAX_NAME_BYTES) short = short.slice(0, -1)
  return short.toWellFormed()
}

/** A pattern with a wildcard may match the new name too, or each name of the directory. */
function freeNameOf(
  names: readonly string[],
  mark: string,
  isHeld: (names: readonly string[]) => boolean,
): readonly string[] {
  const name = shorten(names.at(-1) ?? '')
  const forms = [`${name}.${mark}`, `${mark}.${name}`]
  const candidates = names.flatMap((_, above) =>
    forms.map((form) => [...names.slice(0, names.length - 1 - above), form]),
  )
  return candidates.find((to) => !isHeld(to)) ?? candidates[0] ?? names
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

import { renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemErrorCode } from '../../errors.ts'
import { statusOrNull, type ViewDisk } from './disk.ts'

/**
 * The settings that git reads are those of the directory which this file names. Only the further
 * working trees of a repository have it; see gitrepository-layout(5).
 */
export const COMMON_DIRECTORY = 'commondir'

/** Names that a directory of a repository has, and few other directories. */
export const REPOSITORY_MARK = 'HEAD'
const MARKS = [REPOSITORY_MARK, 'objects', 'refs'] as const

const REPOSITORY_DIRECTORY = /\/\.git(?:\/modules\/.+)?$/
const WORKING_TREE = /\/worktrees\/[^/]+\/commondir$/
const WORKING_TREES = /\/\.git\/(?:.+\/)?worktrees\//

/**
 * Whether a directory with these names is a repository, or the part of one for a further working
 * tree. It may have any name: a file `.git` or the option `--git-dir` leads git there.
 */
export function isRepository(names: ReadonlySet<string>): boolean {
  if (!names.has(REPOSITORY_MARK)) return false
  return names.has(COMMON_DIRECTORY) || MARKS.every((name) => names.has(name))
}

/** Whether these names are those of a whole repository. */
export function isWholeRepository(names: ReadonlySet<string>): boolean {
  return isRepository(names) && !names.has(COMMON_DIRECTORY)
}

const INNER_REPOSITORIES = /\/(?:modules|worktrees)(?:\/|$)/

/**
 * The directories that must keep their names, or a command could put a repository of its own in
 * the place: this one, and those in which a repository keeps its submodules and working trees.
 */
export function directoriesOfRepository(path: string, workspace: string): readonly string[] {
  const kept: string[] = []
  let at = path
  while (at !== workspace && (at === path || INNER_REPOSITORIES.test(at.slice(workspace.length)))) {
    kept.push(at)
    at = dirname(at)
  }
  return kept
}

/** Whether the path is `.git`, or below `.git/modules`. */
export function isRepositoryDirectory(path: string): boolean {
  return REPOSITORY_DIRECTORY.test(path) && !WORKING_TREES.test(`${path}/`)
}

/** Whether a file at the path makes git outside run the programs of other settings. */
export function leadsGitAway(path: string, disk: Pick<ViewDisk, 'status'>): boolean {
  const end = `/${COMMON_DIRECTORY}`
  if (!path.endsWith(end) || WORKING_TREE.test(path)) return false
  const directory = path.slice(0, -end.length)
  if (isRepositoryDirectory(directory)) return true
  // A command may take some of them away for a moment.
  return MARKS.some((name) => statusOrNull(disk, `${directory}/${name}`) !== null)
}

/** Takes the file from git, and keeps it for people. Returns its new path; null if it is gone. */
export function setAside(path: string): string | null {
  const aside = `${path}.refused-by-palisade`
  try {
    renameSync(path, aside)
    return aside
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return null
  }
}

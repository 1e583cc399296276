import { dirname } from 'node:path'

/** The directory of a repository, or in a further working tree the file that names it. */
export const REPOSITORY = '.git'

/**
 * The settings that git reads are those of the directory which this file names. Only the further
 * working trees of a repository have it; see gitrepository-layout(5).
 */
export const COMMON_DIRECTORY = 'commondir'

/** Names that a directory of a repository has, and few other directories. */
export const REPOSITORY_MARK = 'HEAD'
export const REPOSITORY_MARKS = [REPOSITORY_MARK, 'objects', 'refs'] as const

const MARKS: ReadonlySet<string> = new Set([...REPOSITORY_MARKS, COMMON_DIRECTORY])

/** The names by which a directory is told to be a repository; a large one has many others. */
export function marksIn(entries: readonly { readonly name: string }[]): ReadonlySet<string> {
  const marks = new Set<string>()
  for (const { name } of entries) if (MARKS.has(name)) marks.add(name)
  return marks
}

const REPOSITORY_DIRECTORY = /\/\.git(?:\/modules\/.+)?$/
const WORKING_TREES = /\/\.git\/(?:.+\/)?worktrees\//

/**
 * Whether a directory with these names is a repository, or the part of one for a further working
 * tree. It may have any name: a file `.git` or the option `--git-dir` leads git there.
 */
export function isRepository(names: ReadonlySet<string>): boolean {
  if (!names.has(REPOSITORY_MARK)) return false
  return names.has(COMMON_DIRECTORY) || REPOSITORY_MARKS.every((name) => names.has(name))
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

/** Whether the path is a directory `.git`, or below one. */
export function isInRepository(path: string): boolean {
  return repositoryOf(path) !== null
}

/** Returns whether a path lies in another repository than all known paths. */
export function newRepositories(known: readonly string[]): (path: string) => boolean {
  const repositories = new Set([null, ...known.map(repositoryOf)])
  return (path) => !repositories.has(repositoryOf(path))
}

/** The outermost `.git` of the path; null outside of repositories. */
function repositoryOf(path: string): string | null {
  const names = path.split('/')
  const at = names.indexOf(REPOSITORY)
  return at < 0 ? null : names.slice(0, at + 1).join('/')
}

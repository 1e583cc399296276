import { renameSync } from 'node:fs'
import { systemErrorCode } from '../../errors.ts'

/**
 * The settings that git reads are those of the directory which this file names. Only the further
 * working trees of a repository have it; see gitrepository-layout(5).
 */
export const COMMON_DIRECTORY = 'commondir'

/** Names that a directory of a repository has, and few other directories. */
export const REPOSITORY_MARK = 'HEAD'

const REPOSITORY_DIRECTORY = /\/\.git(?:\/modules\/.+)?$/
const WORKING_TREES = /\/\.git\/(?:.+\/)?worktrees\//

/** Whether the path is `.git`, or below `.git/modules`. */
export function isRepositoryDirectory(path: string): boolean {
  return REPOSITORY_DIRECTORY.test(path) && !WORKING_TREES.test(`${path}/`)
}

/** Whether a file at the path makes git outside run the programs of other settings. */
export function leadsGitAway(path: string): boolean {
  const end = `/${COMMON_DIRECTORY}`
  return path.endsWith(end) && isRepositoryDirectory(path.slice(0, -end.length))
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

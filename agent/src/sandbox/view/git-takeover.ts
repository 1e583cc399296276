import { renameSync } from 'node:fs'
import { systemErrorCode } from '../../errors.ts'
import { statusOrNull, type ViewDisk } from './disk.ts'
import { COMMON_DIRECTORY, isRepositoryDirectory, REPOSITORY_MARKS } from './repository.ts'

const WORKING_TREE = /\/worktrees\/[^/]+\/commondir$/

/** Whether a file at the path makes git outside run the programs of other settings. */
export function leadsGitAway(path: string, disk: Pick<ViewDisk, 'status'>): boolean {
  const end = `/${COMMON_DIRECTORY}`
  if (!path.endsWith(end) || WORKING_TREE.test(path)) return false
  const directory = path.slice(0, -end.length)
  if (isRepositoryDirectory(directory)) return true
  // A command may take some of them away for a moment.
  return REPOSITORY_MARKS.some((name) => statusOrNull(disk, `${directory}/${name}`) !== null)
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

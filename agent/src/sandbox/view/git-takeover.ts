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

import { basename, dirname } from 'node:path'
import { systemErrorCode } from '../../errors.ts'
import { statusOrNull, type ViewDisk } from '../view/disk.ts'
import { GIT_PARTS } from '../view/guarded-names.ts'
import { isRepository, REPOSITORY } from '../view/repository.ts'

/** Says which paths git outside obeys, for the repositories that the host has at the first look. */
export interface RepositoryGuard {
  /** Whether the path is a part of a repository that decides which programs git runs. */
  isPart(path: string): boolean
  /**
   * Whether the path is a repository, or a file that leads git to one: in its place a command could
   * put another.
   */
  isWhole(path: string): boolean
}

/** Remembers what it has seen, because the changes of one review could take a mark away first. */
export function createRepositoryGuard(disk: Pick<ViewDisk, 'list' | 'status'>): RepositoryGuard {
  const seen = new Map<string, boolean>()
  const isOnHost = (directory: string): boolean => {
    const known = seen.get(directory)
    if (known !== undefined) return known
    const found = mayBeRepository(directory, disk)
    seen.set(directory, found)
    return found
  }
  return {
    isPart: (path) => isOnHost(dirname(path)) && GIT_PARTS.includes(basename(path)),
    isWhole: (path) =>
      isOnHost(path) || (basename(path) === REPOSITORY && statusOrNull(disk, path) !== null),
  }
}

/** True also for a directory that cannot be read. */
function mayBeRepository(directory: string, disk: Pick<ViewDisk, 'list' | 'status'>): boolean {
  if (statusOrNull(disk, directory)?.kind !== 'directory') return false
  try {
    return isRepository(new Set(disk.list(directory).entries.map(({ name }) => name)))
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return true
  }
}

import { basename, dirname, join } from 'node:path'
import { systemErrorCode } from '../../host/errors.ts'
import { statusOrNull, type ViewDisk } from '../view/disk.ts'
import { GIT_ATTRIBUTES, GIT_PARTS } from '../view/guarded-names.ts'
import { isWithin, restOf } from '../view/mount-table.ts'
import { isRepository, REPOSITORY, REPOSITORY_MARKS } from '../view/repository.ts'
import type { StagedLayer } from './staged-session.ts'

/**
 * Says which paths git outside obeys, for the repositories that the host has at the first look, and
 * for those that the staged changes would make.
 */
export interface RepositoryGuard {
  /** Whether the path is a part of a repository that decides which programs git runs. */
  isPart(path: string): boolean
  /**
   * Whether the path is a repository, or a file or link that leads git to one: in its place a
   * command could put another.
   */
  isWhole(path: string): boolean
  /** Whether the path is new, and makes its directory a repository together with other names. */
  completes(path: string): boolean
}

type GuardDisk = Pick<ViewDisk, 'list' | 'status'>

/** Remembers what it has seen, because the changes of one review could take a mark away first. */
export function createRepositoryGuard(
  disk: GuardDisk,
  layers: readonly StagedLayer[],
): RepositoryGuard {
  const isOnHost = remember((directory) => {
    const names = namesIn(directory, disk)
    return names === 'unreadable' || isRepository(names)
  })
  /** The path in each layer that has it. */
  const stagedAt = (path: string): readonly string[] =>
    layers
      .filter((layer) => isWithin(path, layer.path))
      .map((layer) => join(layer.upper, restOf(path, layer.path)))
  const becomesOne = remember((directory) => {
    if (isOnHost(directory)) return false
    const names = new Set<string>()
    for (const each of [directory, ...stagedAt(directory)]) {
      const found = namesIn(each, disk)
      if (found === 'unreadable') return true
      for (const name of found) names.add(name)
    }
    return isRepository(names)
  })
  const isLead = (path: string): boolean =>
    basename(path) === REPOSITORY &&
    [path, ...stagedAt(path)].some((each) => {
      const status = statusOrNull(disk, each)
      return status !== null && (each === path || status.kind !== 'directory')
    })
  const isRepositoryNow = (directory: string): boolean =>
    isOnHost(directory) || becomesOne(directory)
  return {
    isPart: (path) =>
      (GIT_PARTS.includes(basename(path)) && isRepositoryNow(dirname(path))) ||
      (path.endsWith(`/${GIT_ATTRIBUTES}`) && isRepositoryNow(dirname(dirname(path)))),
    isWhole: (path) => isOnHost(path) || isLead(path),
    completes: (path) =>
      REPOSITORY_MARKS.some((mark) => mark === basename(path)) &&
      becomesOne(dirname(path)) &&
      statusOrNull(disk, path) === null,
  }
}

function remember(find: (path: string) => boolean): (path: string) => boolean {
  const seen = new Map<string, boolean>()
  return (path) => {
    const known = seen.get(path)
    if (known !== undefined) return known
    const found = find(path)
    seen.set(path, found)
    return found
  }
}

/** Empty for a path that is no directory. */
function namesIn(directory: string, disk: GuardDisk): ReadonlySet<string> | 'unreadable' {
  if (statusOrNull(disk, directory)?.kind !== 'directory') return new Set()
  try {
    return new Set(disk.list(directory).entries.map(({ name }) => name))
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return 'unreadable'
  }
}

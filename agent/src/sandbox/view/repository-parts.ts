import { statusOrNull } from './disk.ts'
import type { WalkDeps } from './walk-deps.ts'
import { GIT_ATTRIBUTES, HOOKS, INFORMATION, SETTINGS, TREE_SETTINGS } from './guarded-names.ts'
import type { RestrictedPath } from './path-restriction.ts'
import type { MissingName } from './placeholder-plan.ts'
import {
  COMMON_DIRECTORY,
  isRepositoryDirectory,
  REPOSITORY,
  REPOSITORY_MARK,
} from './repository.ts'

/**
 * The parts that repositories may lack, which decide which programs git runs. Git behaves with
 * an empty one as without it.
 */
export function partsOfRepositories(
  restricted: readonly RestrictedPath[],
  { disk, isOpened }: Pick<WalkDeps, 'disk' | 'isOpened'>,
): readonly MissingName[] {
  const paths = new Set(restricted.map(({ path }) => path))
  const isThere = (path: string): boolean => statusOrNull(disk, path) !== null
  const partsOf = (path: string): readonly MissingName[] => {
    const part = (name: string, kind: MissingName['kind']) => ({ path: `${path}/${name}`, kind })
    const isNamed = isRepositoryDirectory(path) && isThere(`${path}/${REPOSITORY_MARK}`)
    if (isNamed || path.endsWith(`/${REPOSITORY}`) || paths.has(`${path}/${SETTINGS}`))
      return [
        part(HOOKS, 'directory'),
        part(SETTINGS, 'file'),
        part(TREE_SETTINGS, 'file'),
        isThere(`${path}/${INFORMATION}`)
          ? part(GIT_ATTRIBUTES, 'file')
          : part(INFORMATION, 'directory'),
      ]
    return paths.has(`${path}/${COMMON_DIRECTORY}`) ? [part(TREE_SETTINGS, 'file')] : []
  }
  return restricted
    .filter(({ level }) => level === 'pinned')
    .flatMap(({ path }) => partsOf(path))
    .filter(({ path }) => !isOpened(path))
}

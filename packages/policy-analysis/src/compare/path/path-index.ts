import type { Segments } from '@palisade/policy-core/internal'
import { addToFolder, createFolder, followWay, foldersIn } from '../../overlap/folder-tree.ts'
import { chargeLookUp } from '../meter.ts'
import type { Near } from '../pattern-space.ts'

/**
 * Finds the patterns that may share a path with a region: the names before the first star of one
 * are a prefix of those of the other. O(names + results).
 */
export function indexPaths<T extends { readonly pattern: Segments }>(
  items: readonly T[],
): Near<Segments, T> {
  const root = createFolder<T>()
  for (const item of items) addToFolder(root, item, item.pattern)
  return ({ resource }, meter) => {
    const { passed, reached } = followWay(root, resource)
    const folders = [...passed, ...(reached === null ? [] : foldersIn(reached))]
    const near = folders.flatMap((folder) => folder.items)
    return chargeLookUp(meter, folders.length, near)
  }
}

import type { Segments } from '../../language/path-automaton.ts'
import { chargeLookUp } from '../meter.ts'
import type { Near } from '../space.ts'

/** The patterns that begin with the same names; a pattern stands where its first star does. */
interface Folder<T> {
  readonly items: T[]
  readonly folders: Map<string, Folder<T>>
}

/**
 * Finds the patterns that may share a path with a region: those whose names before the first star
 * begin like its own, or the other way round. O(names + what is found).
 */
export function indexPaths<T extends { readonly pattern: Segments }>(
  items: readonly T[],
): Near<Segments, T> {
  const root: Folder<T> = { items: [], folders: new Map() }
  for (const item of items) {
    let folder = root
    for (const name of leadingNames(item.pattern)) {
      const next: Folder<T> = folder.folders.get(name) ?? { items: [], folders: new Map() }
      folder.folders.set(name, next)
      folder = next
    }
    folder.items.push(item)
  }
  return ({ resource }, meter) => {
    const near: T[] = []
    const end = (): readonly T[] => chargeLookUp(meter, folders, near)
    let folders = 0
    let folder: Folder<T> | undefined = root
    for (const name of leadingNames(resource)) {
      for (const item of folder.items) near.push(item)
      folder = folder.folders.get(name)
      folders += 1
      if (folder === undefined) return end()
    }
    const waiting = [folder]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const item of next.items) near.push(item)
      folders += 1
      for (const below of next.folders.values()) waiting.push(below)
    }
    return end()
  }
}

function* leadingNames(segments: Segments): Generator<string> {
  for (const segment of segments) {
    if ('recursive' in segment || segment.pieces.length > 1) return
    yield segment.pieces[0] ?? ''
  }
}

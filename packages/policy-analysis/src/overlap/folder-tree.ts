import type { GlobSegment } from '@palisade/policy-core/internal'

/** Path patterns whose names up to their first star are the same. */
export interface Folder<T> {
  readonly below: Map<string, Folder<T>>
  readonly items: T[]
  /** Items by the name that their pattern ends in; under `null` those that end in a star. */
  readonly byEnd: Map<string | null, T[]>
}

/** The way of a pattern from the root to its first star, or to where no pattern leads on. */
export interface Way<T> {
  /** The folders that the way leads through. */
  readonly passed: readonly Folder<T>[]
  /** The folder where it ends; null when no pattern leads there. */
  readonly reached: Folder<T> | null
  /** Whether the way ends at a star. */
  readonly endsInStar: boolean
}

export function createFolder<T>(): Folder<T> {
  return { below: new Map(), items: [], byEnd: new Map() }
}

/** Adds an item where the first star of its pattern is. */
export function addToFolder<T>(root: Folder<T>, item: T, segments: readonly GlobSegment[]): void {
  let folder = root
  for (const name of leadingNames(segments)) {
    const next = folder.below.get(name) ?? createFolder<T>()
    folder.below.set(name, next)
    folder = next
  }
  folder.items.push(item)
  const end = nameOf(segments.at(-1))
  const same = folder.byEnd.get(end)
  if (same === undefined) folder.byEnd.set(end, [item])
  else same.push(item)
}

/** O(names before the first star). */
export function followWay<T>(root: Folder<T>, segments: readonly GlobSegment[]): Way<T> {
  const passed: Folder<T>[] = []
  const names = leadingNames(segments)
  const endsInStar = names.length < segments.length
  let folder = root
  for (const name of names) {
    passed.push(folder)
    const next = folder.below.get(name)
    if (next === undefined) return { passed, reached: null, endsInStar }
    folder = next
  }
  return { passed, reached: folder, endsInStar }
}

/** The folder and all below it. With a list of those to do: a path can be deeper than a stack. */
export function* foldersIn<T>(root: Folder<T>): Generator<Folder<T>> {
  const open = [root]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    yield folder
    for (const next of folder.below.values()) open.push(next)
  }
}

/** A segment without a star, as the name that it stands for. */
export function nameOf(segment: GlobSegment | undefined): string | null {
  if (segment === undefined || 'recursive' in segment || segment.pieces.length > 1) return null
  return segment.pieces[0] ?? null
}

function leadingNames(segments: readonly GlobSegment[]): readonly string[] {
  const names: string[] = []
  for (const segment of segments) {
    const name = nameOf(segment)
    if (name === null) break
    names.push(name)
  }
  return names
}

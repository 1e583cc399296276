import type { GlobSegment } from '@palisade/policy-core/internal'
import { createDomainIndex } from '../overlap/domain-index.ts'
import {
  addToFolder,
  createFolder,
  foldersIn,
  followWay,
  nameOf,
  type Folder,
} from '../overlap/folder-tree.ts'
import { createRangeIndex } from '../overlap/range-index.ts'
import type { LintPattern, ResolvedPath } from './lint-pattern.ts'
import type { Entry } from './lint-rule.ts'

/** Index of resources of every kind that finds those that may cover a pattern. */
export interface CoverIndex {
  readonly add: (entry: Entry, pattern: LintPattern) => void
  /** Returns every resource that covers `pattern`, and few others. */
  readonly candidates: (pattern: LintPattern) => Iterable<Entry>
}

export function createCoverIndex(): CoverIndex {
  const domains = createDomainIndex<Entry>()
  const ranges = createRangeIndex<Entry>()
  const paths = createPathIndex()
  return {
    add: (entry, pattern) => {
      if (pattern.kind === 'name') domains.add(entry, pattern.domain, pattern.port)
      else if (pattern.kind === 'range') ranges.add(entry, pattern.range, pattern.port)
      else paths.add(entry, pattern)
    },
    candidates: function* (pattern) {
      if (pattern.kind === 'path') return yield* paths.candidates(pattern)
      const { kind, port } = pattern
      const near = kind === 'name' ? domains.above(pattern.domain) : ranges.around(pattern.range)
      for (const { items } of near) yield* items.covering(port)
    },
  }
}

export interface PathIndex {
  readonly add: (entry: Entry, pattern: ResolvedPath) => void
  /** Returns every entry that covers `pattern`, and few others. */
  readonly candidates: (pattern: ResolvedPath) => Iterable<Entry>
  /** Returns every entry that may share a path with `pattern`, for any home directory. */
  readonly touching: (pattern: ResolvedPath) => Iterable<Entry>
}

/**
 * Finds path patterns by their first and last names. A name covers only the same name, so a
 * covering pattern has no name where the covered one has a star.
 */
export function createPathIndex(): PathIndex {
  const fromRoot = createFolder<Entry>()
  const fromHome = createFolder<Entry>()
  return {
    add: (entry, pattern) =>
      addToFolder(pattern.fromHome ? fromHome : fromRoot, entry, pattern.segments),
    candidates: function* ({ segments, fromHome: isHome }) {
      const end = nameOf(segments.at(-1))
      if (isHome) yield* along(fromHome, segments, end)
      // The home is unknown, so only a pattern that starts with a star covers paths below it.
      yield* along(fromRoot, isHome ? [] : segments, end)
    },
    touching: function* ({ segments, fromHome: isHome }) {
      const [same, other] = isHome ? [fromHome, fromRoot] : [fromRoot, fromHome]
      yield* around(same, segments)
      for (const folder of foldersIn(other)) yield* folder.items
    },
  }
}

function* along(
  root: Folder<Entry>,
  segments: readonly GlobSegment[],
  end: string | null,
): Generator<Entry> {
  const { passed, reached } = followWay(root, segments)
  for (const { byEnd } of reached === null ? passed : [...passed, reached]) {
    yield* byEnd.get(null) ?? []
    if (end !== null) yield* byEnd.get(end) ?? []
  }
}

/** All items in folders up to the first star, and all items below it. */
function* around(root: Folder<Entry>, segments: readonly GlobSegment[]): Generator<Entry> {
  const { passed, reached, endsInStar } = followWay(root, segments)
  for (const folder of passed) yield* folder.items
  if (reached === null) return
  for (const folder of endsInStar ? foldersIn(reached) : [reached]) yield* folder.items
}

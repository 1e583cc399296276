import type { GlobSegment } from '../path/glob.ts'
import type { CoverIndex } from './cover-index.ts'
import type { Entry, PlacedPath } from './lint-rule.ts'

/** Patterns whose names up to their first star are the same. */
interface Branch {
  readonly below: Map<string, Branch>
  /** By the name that the pattern ends in; under `null` those that end in a star. */
  readonly entries: Map<string | null, Entry[]>
}

export interface PathIndex extends CoverIndex<PlacedPath> {
  /** All that may match some path that `pattern` matches, wherever the home is. */
  readonly touching: (pattern: PlacedPath) => Iterable<Entry>
}

/**
 * Finds path patterns by the names that they start and end with. A name can only cover the same
 * name, so a covering pattern has no name where the other one has a star.
 */
export function createPathIndex(): PathIndex {
  const fromRoot = createBranch()
  const fromHome = createBranch()
  return {
    add: (entry, { segments, fromHome: isHome }) => {
      let branch = isHome ? fromHome : fromRoot
      for (const segment of segments) {
        const name = nameOf(segment)
        if (name === null) break
        const next = branch.below.get(name) ?? createBranch()
        branch.below.set(name, next)
        branch = next
      }
      const end = nameOf(segments.at(-1))
      const list = branch.entries.get(end)
      if (list === undefined) branch.entries.set(end, [entry])
      else list.push(entry)
    },
    candidates: function* (pattern) {
      if (pattern.fromHome) yield* along(fromHome, pattern.segments)
      // Wherever the home is: only what starts with a star covers what is below it.
      yield* along(fromRoot, pattern.fromHome ? [] : pattern.segments, pattern.segments.at(-1))
    },
    touching: function* (pattern) {
      const [same, other] = pattern.fromHome ? [fromHome, fromRoot] : [fromRoot, fromHome]
      yield* around(same, pattern.segments)
      yield* everythingIn(other)
    },
  }
}

function* along(
  root: Branch,
  segments: readonly GlobSegment[],
  last: GlobSegment | undefined = segments.at(-1),
): Generator<Entry> {
  const end = nameOf(last)
  let branch: Branch | undefined = root
  for (let index = 0; branch !== undefined; index += 1) {
    yield* branch.entries.get(null) ?? []
    if (end !== null) yield* branch.entries.get(end) ?? []
    const name = nameOf(segments[index])
    branch = name === null ? undefined : branch.below.get(name)
  }
}

/** Everything on the way to the first star, and everything behind it. */
function* around(root: Branch, segments: readonly GlobSegment[]): Generator<Entry> {
  let branch = root
  for (const segment of segments) {
    const name = nameOf(segment)
    if (name === null) return yield* everythingIn(branch)
    for (const list of branch.entries.values()) yield* list
    const next = branch.below.get(name)
    if (next === undefined) return
    branch = next
  }
  for (const list of branch.entries.values()) yield* list
}

/** A list of what is still to do, because a path can be deeper than a stack. */
function* everythingIn(root: Branch): Generator<Entry> {
  const open = [root]
  for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
    for (const list of branch.entries.values()) yield* list
    for (const next of branch.below.values()) open.push(next)
  }
}

function createBranch(): Branch {
  return { below: new Map(), entries: new Map() }
}

/** A segment without a star, as the name that it stands for. */
export function nameOf(segment: GlobSegment | undefined): string | null {
  if (segment === undefined || 'recursive' in segment || segment.pieces.length > 1) return null
  return segment.pieces[0] ?? null
}

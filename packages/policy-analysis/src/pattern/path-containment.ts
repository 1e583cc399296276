import {
  findPath,
  globMatches,
  MAX_PATH_BYTES,
  type GlobSegment,
  type PathMeter,
  type Segments,
} from '@palisade/policy-core/internal'

/** `unknown`: not decided within the budget; never a guess. */
export type Answer = 'yes' | 'no' | 'unknown'

/** Tells whether `outer` matches every path that `inner` matches. Exact; see `findPath`. */
export function coversPath(outer: Segments, inner: Segments, budget?: number | PathMeter): Answer {
  if (equalSegments(outer, inner) || isEverything(outer)) return 'yes'
  if (isSurelyShort(inner)) {
    if (endsDiffer(outer, inner)) return 'no'
    const path = literalPath(inner)
    if (path !== null) return matches(outer, path)
  }
  const found = findPath({ inAll: [inner], inNone: [outer] }, budget)
  return found.kind === 'unknown' ? 'unknown' : found.kind === 'none' ? 'yes' : 'no'
}

/** Tells whether some path is matched by both patterns. Exact; see `findPath`. */
export function intersectsPath(a: Segments, b: Segments, budget?: number | PathMeter): Answer {
  if (endsDiffer(a, b)) return 'no'
  const [literalA, literalB] = [literalPath(a), literalPath(b)]
  if (literalA !== null && isSurelyShort(a)) return matches(b, literalA)
  if (literalB !== null && isSurelyShort(b)) return matches(a, literalB)
  const found = findPath({ inAll: [a, b], inNone: [] }, budget)
  return found.kind === 'unknown' ? 'unknown' : found.kind === 'none' ? 'no' : 'yes'
}

/** Segments without a star, as the names that they stand for; null when there is a star. */
function literalPath(segments: Segments): readonly string[] | null {
  const names: string[] = []
  for (const segment of segments) {
    const name = literalOf(segment)
    if (name === null) return null
    names.push(name)
  }
  return names
}

function literalOf(segment: GlobSegment | undefined): string | null {
  if (segment === undefined || 'recursive' in segment || segment.pieces.length > 1) return null
  return segment.pieces[0] ?? null
}

function equalSegments(a: Segments, b: Segments): boolean {
  return a.length === b.length && a.every((segment, index) => equalSegment(segment, b[index]))
}

function equalSegment(a: GlobSegment, b: GlobSegment | undefined): boolean {
  if (b === undefined) return false
  if ('recursive' in a || 'recursive' in b) return 'recursive' in a && 'recursive' in b
  return a.pieces.length === b.pieces.length && a.pieces.every((piece, i) => piece === b.pieces[i])
}

function isEverything(segments: Segments): boolean {
  return segments.length > 0 && segments.every((segment) => 'recursive' in segment)
}

/**
 * Short enough that the pattern certainly matches some path: a UTF-16 unit takes at most three
 * bytes, and a star one. A longer pattern may match no path, and is then covered by every pattern.
 */
function isSurelyShort(segments: Segments): boolean {
  let units = 0
  for (const segment of segments)
    if ('pieces' in segment) units += segment.pieces.join('*').length + 1
  return units * 3 <= MAX_PATH_BYTES
}

/** Literal names at the same place, counted from either end, that are not the same. */
function endsDiffer(a: Segments, b: Segments): boolean {
  return (
    differAlong(a.length, (index) => [a[index], b[index]]) ||
    differAlong(a.length, (index) => [a.at(-1 - index), b.at(-1 - index)])
  )
}

function differAlong(
  length: number,
  at: (index: number) => readonly [GlobSegment | undefined, GlobSegment | undefined],
): boolean {
  for (let index = 0; index < length; index += 1) {
    const [left, right] = at(index)
    if (left === undefined || right === undefined) return false
    if ('recursive' in left || 'recursive' in right) return false
    const [nameLeft, nameRight] = [literalOf(left), literalOf(right)]
    if (nameLeft !== null && nameRight !== null && nameLeft !== nameRight) return true
  }
  return false
}

function matches(pattern: Segments, names: readonly string[]): Answer {
  return globMatches(pattern, { segments: names, names: new Set(names) }) ? 'yes' : 'no'
}

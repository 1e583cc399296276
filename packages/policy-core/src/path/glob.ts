import { foldCase, segmentsOf } from './path.ts'

/** One segment of a path pattern: `**`, or text that `*` cuts into pieces (one piece: literal). */
export type GlobSegment = { readonly recursive: true } | { readonly pieces: readonly string[] }

/** A path made ready once for any number of patterns. */
export interface GlobPath {
  readonly segments: readonly string[]
  readonly names: ReadonlySet<string>
}

/** The canonical path, its letters folded where case does not count. */
export function readGlobPath(path: string, caseSensitive: boolean): GlobPath {
  const segments = segmentsOf(caseSensitive ? path : foldCase(path))
  return { segments, names: new Set(segments) }
}

export function parseGlobSegment(text: string): GlobSegment {
  if (text === '**') return { recursive: true }
  return { pieces: text.includes('*') ? text.split('*') : [text] }
}

/** The segment with its letters folded, for file systems that ignore case. */
export function foldSegment(segment: GlobSegment): GlobSegment {
  return 'recursive' in segment ? segment : { pieces: segment.pieces.map(foldCase) }
}

export function literalSegment(text: string): GlobSegment {
  return { pieces: [text] }
}

/**
 * Tells whether the pattern matches all segments of a path. `**` takes zero or more segments.
 *
 * Only the last `**` is ever widened: the segments before it match as far left as possible, and
 * moving them right cannot help the rest. That bounds the work to pattern × path segments.
 */
export function globMatches(
  pattern: readonly GlobSegment[],
  { segments: path, names }: GlobPath,
): boolean {
  // A name that the path lacks decides without a walk, which is slow for many patterns.
  if (pattern.some((segment) => isLiteral(segment) && !names.has(segment.pieces[0]))) return false
  let p = 0
  let s = 0
  let resumeAt = -1
  let resumeFrom = 0
  while (s < path.length) {
    const segment = pattern[p]
    if (segment !== undefined && 'recursive' in segment) {
      resumeAt = ++p
      resumeFrom = s
    } else if (segment !== undefined && segmentMatches(segment.pieces, path[s] ?? '')) {
      p += 1
      s += 1
    } else if (resumeAt >= 0) {
      p = resumeAt
      s = resumeFrom += 1
    } else {
      return false
    }
  }
  return pattern.slice(p).every((segment) => 'recursive' in segment)
}

function isLiteral(segment: GlobSegment): segment is { readonly pieces: readonly [string] } {
  return 'pieces' in segment && segment.pieces.length === 1
}

/** Finds the pieces in order, first and last anchored, each as far left as possible. */
function segmentMatches(pieces: readonly string[], text: string): boolean {
  const first = pieces[0] ?? ''
  if (pieces.length === 1) return text === first
  const last = pieces.at(-1) ?? ''
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let from = first.length
  for (const piece of pieces.slice(1, -1)) {
    const at = text.indexOf(piece, from)
    if (at < 0) return false
    from = at + piece.length
  }
  return from <= end
}

import {
  globMatches,
  parsePath,
  type GlobPath,
  type Segments,
} from '@palisade/policy-core/internal'

/** A name that rules hardly mention, and that shows the reader that any other would serve. */
const OTHER = 'other'

/** A path that the pattern matches, with one plain name for each star; null if that is invalid. */
export function samplePath(pattern: Segments): GlobPath | null {
  return sampleOf(pattern, [OTHER])
}

/** A path that both patterns may match: the sample of one below the first `**` of the other. */
export function jointSample(outer: Segments, inner: Segments): GlobPath | null {
  const below = samplePath(inner)
  return below === null ? null : sampleOf(outer, below.segments)
}

export function formatSample({ segments }: GlobPath): string {
  return `/${segments.join('/')}`
}

function sampleOf(pattern: Segments, below: readonly string[]): GlobPath | null {
  const segments = pattern.flatMap((segment) => {
    if ('recursive' in segment) return below
    return [segment.pieces.join(segment.pieces.length > 1 ? OTHER : '')]
  })
  const path = { segments, names: new Set(segments) }
  return parsePath(formatSample(path)).ok && globMatches(pattern, path) ? path : null
}

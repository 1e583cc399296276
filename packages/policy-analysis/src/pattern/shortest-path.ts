import { utf8Size, type Segments } from '@palisade/policy-core/internal'

/** The only two folded letters that are longer than their originals: Ⱥ and Ⱦ take two bytes. */
const LONGER_WHEN_FOLDED = /[\u2c65\u2c66]/gu

/**
 * Bytes of a shortest path that the pattern matches, for either case sensitivity. A little less if
 * the shortest path would have an empty, `.` or `..` segment.
 */
export function shortestPathBytes(segments: Segments): number {
  let bytes = 0
  for (const segment of segments) {
    if ('recursive' in segment) continue
    bytes += 1
    const names = segment.pieces.join('').replace(LONGER_WHEN_FOLDED, '\u023a')
    for (const char of names) bytes += utf8Size(char.codePointAt(0) ?? 0)
  }
  return Math.max(1, bytes)
}

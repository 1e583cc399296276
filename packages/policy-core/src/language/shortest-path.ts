import { utf8Size } from './letters.ts'
import type { Segments } from './path-automaton.ts'

/**
 * Bytes of a shortest path that the pattern matches, a little less where the shortest one would
 * have an empty, `.` or `..` segment.
 */
export function shortestPathBytes(segments: Segments): number {
  let bytes = 0
  for (const segment of segments) {
    if ('recursive' in segment) continue
    bytes += 1
    for (const char of segment.pieces.join('')) bytes += utf8Size(char.codePointAt(0) ?? 0)
  }
  return Math.max(1, bytes)
}

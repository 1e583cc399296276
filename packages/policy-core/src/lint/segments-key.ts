import type { Segments } from '../language/path-automaton.ts'

/**
 * Equal for equal segments only. A star becomes NUL, which no segment has, since the name of a home
 * directory may have a `*` in it.
 */
export function segmentsKey(segments: Segments): string {
  return segments
    .map((segment) => `/${'recursive' in segment ? '\0\0' : segment.pieces.join('\0')}`)
    .join('')
}

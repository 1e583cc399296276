import type { GlobSegment } from '../path/glob.ts'
import type { Entry, LintPattern } from './lint-rule.ts'

/** The pattern for the levels below a pattern that ends in a single `*`; null for others. */
export function deeperThan(pattern: LintPattern): LintPattern | null {
  if (pattern.kind === 'name') return pattern.depth === 'one' ? { ...pattern, depth: 'any' } : null
  const last = pattern.kind === 'path' ? pattern.segments.at(-1) : undefined
  if (pattern.kind === 'range' || last === undefined || !isStar(last)) return null
  return { ...pattern, segments: [...pattern.segments, last, { recursive: true }] }
}

/** The text of the pattern with `**` in place of that `*`. */
export function widen({ pattern, text }: Entry): string {
  return pattern.kind === 'path' ? text.replace(/\*$/, '**') : text.replace('*', '**')
}

function isStar(segment: GlobSegment): boolean {
  return 'pieces' in segment && segment.pieces.join('*') === '*'
}

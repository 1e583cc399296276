import type { GlobSegment, NetworkPattern, Segments } from '@palisade/policy-core/internal'
import { keyOfSegments } from '../pattern/format-pattern.ts'
import { coversNetwork, intersectsNetwork } from '../pattern/network-language.ts'
import { coversPath, intersectsPath, type Answer } from '../pattern/path-containment.ts'
import { withinBudget, type Budget } from './budget.ts'

/** A path pattern. Without a known home, `segments` holds only the part after `~`. */
export interface ResolvedPath {
  readonly kind: 'path'
  readonly fromHome: boolean
  readonly segments: Segments
}

export type LintPattern = NetworkPattern | ResolvedPath

/** A key that is equal for equivalent patterns. */
export function keyOf(pattern: LintPattern): string {
  if (pattern.kind === 'name') return `${pattern.depth} ${pattern.domain} ${pattern.port ?? '*'}`
  if (pattern.kind === 'range') {
    const { family, base, prefix } = pattern.range
    return `ipv${family} ${base} ${prefix} ${pattern.port ?? '*'}`
  }
  return `${pattern.fromHome ? '~' : ''}${keyOfSegments(pattern.segments)}`
}

/** The port of a network pattern; null for all ports, and for paths. */
export function portOf(pattern: LintPattern): number | null {
  return pattern.kind === 'path' ? null : pattern.port
}

/** The pattern on another port; null means all ports. */
export function onPort(pattern: LintPattern, port: number | null): LintPattern {
  return pattern.kind === 'path' ? pattern : { ...pattern, port }
}

/** Tells whether `outer` matches all that `inner` matches, for every home directory. */
export function covers(outer: LintPattern, inner: LintPattern, budget: Budget): Answer {
  if (outer.kind !== 'path' || inner.kind !== 'path')
    return outer.kind !== 'path' && inner.kind !== 'path' && coversNetwork(outer, inner)
      ? 'yes'
      : 'no'
  if (outer.fromHome && !inner.fromHome) return 'no'
  const segments = outer.fromHome ? inner.segments : anywhere(inner)
  return withinBudget(budget, (meter) => coversPath(outer.segments, segments, meter))
}

/** Tells whether both patterns match a common name, address or path for some home directory. */
export function intersects(a: LintPattern, b: LintPattern, budget: Budget): Answer {
  if (a.kind !== 'path' || b.kind !== 'path')
    return a.kind !== 'path' && b.kind !== 'path' && intersectsNetwork(a, b) ? 'yes' : 'no'
  const [left, right] =
    a.fromHome && b.fromHome ? [a.segments, b.segments] : [anywhere(a), anywhere(b)]
  return withinBudget(budget, (meter) => intersectsPath(left, right, meter))
}

/** The pattern for the levels below a pattern that ends in a single `*`; null for others. */
export function deeperThan(pattern: LintPattern): LintPattern | null {
  if (pattern.kind === 'name') return pattern.depth === 'one' ? { ...pattern, depth: 'any' } : null
  const last = pattern.kind === 'path' ? pattern.segments.at(-1) : undefined
  if (pattern.kind === 'range' || last === undefined || !isStar(last)) return null
  return { ...pattern, segments: [...pattern.segments, last, { recursive: true }] }
}

/** The text of the pattern with `**` in place of that `*`. */
export function widen({
  pattern,
  text,
}: {
  readonly pattern: LintPattern
  readonly text: string
}): string {
  return pattern.kind === 'path' ? text.replace(/\*$/, '**') : text.replace('*', '**')
}

/** The segments below any possible home directory. Segments from the root stay unchanged. */
function anywhere({ fromHome, segments }: ResolvedPath): Segments {
  return fromHome ? [{ recursive: true }, ...segments] : segments
}

function isStar(segment: GlobSegment): boolean {
  return 'pieces' in segment && segment.pieces.join('*') === '*'
}

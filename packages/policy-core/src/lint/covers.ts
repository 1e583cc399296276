import { coversNetwork, intersectsNetwork } from '../language/network-language.ts'
import type { Segments } from '../language/path-automaton.ts'
import { coversPath, intersectsPath, type Answer } from '../language/path-containment.ts'
import { withinBudget, type Budget } from './budget.ts'
import type { LintPattern, PlacedPath } from './lint-rule.ts'

/** Tells whether `outer` matches all that `inner` matches, wherever the home directory may be. */
export function covers(outer: LintPattern, inner: LintPattern, budget: Budget): Answer {
  if (outer.kind !== 'path' || inner.kind !== 'path')
    return outer.kind !== 'path' && inner.kind !== 'path' && coversNetwork(outer, inner)
      ? 'yes'
      : 'no'
  if (outer.fromHome && !inner.fromHome) return 'no'
  const segments = outer.fromHome ? inner.segments : anywhere(inner)
  return withinBudget(budget, (meter) => coversPath(outer.segments, segments, meter))
}

/** Tells whether something may be matched by both, for some home directory. */
export function intersects(a: LintPattern, b: LintPattern, budget: Budget): Answer {
  if (a.kind !== 'path' || b.kind !== 'path')
    return a.kind !== 'path' && b.kind !== 'path' && intersectsNetwork(a, b) ? 'yes' : 'no'
  const [left, right] =
    a.fromHome && b.fromHome ? [a.segments, b.segments] : [anywhere(a), anywhere(b)]
  return withinBudget(budget, (meter) => intersectsPath(left, right, meter))
}

/** The segments below any directory that may be a home; as they are when they start at the root. */
export function anywhere({ fromHome, segments }: PlacedPath): Segments {
  return fromHome ? [{ recursive: true }, ...segments] : segments
}

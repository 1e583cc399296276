import { coversNetwork, intersectsNetwork } from '../language/network-language.ts'
import type { Segments } from '../language/path-automaton.ts'
import { coversPath, intersectsPath, type Answer } from '../language/path-containment.ts'
import { withinBudget, type Budget } from './budget.ts'
import type { LintPattern, PlacedPath } from './lint-rule.ts'

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

/** The segments below any possible home directory. Segments from the root stay unchanged. */
export function anywhere({ fromHome, segments }: PlacedPath): Segments {
  return fromHome ? [{ recursive: true }, ...segments] : segments
}

import type { Answer } from '../language/path-containment.ts'
import type { Action } from '../policy/policy.ts'
import type { Cover, CoverFinder } from './find-cover.ts'
import { onPort, portOf, type Entry, type LintPattern } from './lint-rule.ts'

/** Who allows all addresses allows all names, whatever they resolve to. */
const CATCH_ALLS: readonly LintPattern[] = ([4, 6] as const).map((family) => ({
  kind: 'range',
  range: { family, base: 0n, prefix: 0 },
  port: null,
}))

/**
 * The first allow that leaves open all of `pattern`, on one of its ports at least, which a deny was
 * surely meant to close; null also when another deny closes it.
 */
export function findOpener(
  deny: Entry,
  action: Action,
  pattern: LintPattern,
  finder: CoverFinder,
): Cover {
  const catchAlls = CATCH_ALLS.map((all) => onPort(all, portOf(pattern)))
  const wanted = pattern.kind === 'name' ? [pattern, ...catchAlls] : [pattern]
  const isOpen = (allow: Entry, each: LintPattern): Answer => {
    const port = portOf(pattern) ?? portOf(allow.pattern)
    const closers = [pattern, each].map((closed) =>
      finder.coverOf(deny, 'deny', action, onPort(closed, port)),
    )
    if (closers.every((closer) => closer === null)) return 'yes'
    return closers.some((closer) => closer !== null && closer !== 'unknown') ? 'no' : 'unknown'
  }
  for (const each of wanted) {
    const opener = finder.openerOf(deny, action, each, (allow) => isOpen(allow, each))
    if (opener !== null) return opener
  }
  return null
}

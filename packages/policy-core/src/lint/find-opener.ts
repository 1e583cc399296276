import type { NetworkPattern } from '../pattern/network-pattern.ts'
import type { Action } from '../policy/policy.ts'
import type { Cover, CoverFinder } from './find-cover.ts'
import type { Entry, LintPattern } from './lint-rule.ts'

/** Who allows all addresses allows all names, whatever they resolve to. */
const CATCH_ALLS: readonly NetworkPattern[] = ([4, 6] as const).map((family) => ({
  kind: 'range',
  range: { family, base: 0n, prefix: 0 },
  port: null,
}))

/**
 * The first allow that leaves open all of `pattern`, which a deny was surely meant to close; null
 * also when another deny closes it.
 */
export function findOpener(
  deny: Entry,
  action: Action,
  pattern: LintPattern,
  finder: CoverFinder,
): Cover {
  const wanted = pattern.kind === 'name' ? [pattern, ...CATCH_ALLS] : [pattern]
  for (const each of wanted) {
    const opener = finder.coverOf(deny, 'allow', action, each)
    if (opener === null) continue
    const closers = [pattern, each].map((closed) => finder.coverOf(deny, 'deny', action, closed))
    if (closers.every((closer) => closer === null)) return opener
    if (!closers.some((closer) => closer !== null && closer !== 'unknown')) return 'unknown'
  }
  return null
}

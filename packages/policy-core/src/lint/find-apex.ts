import type { NetworkPattern } from '../pattern/network-pattern.ts'
import { quote } from '../quote.ts'
import { describeBroadDomain } from './broad-domain.ts'
import type { Budget } from './budget.ts'
import { covers } from './covers.ts'
import type { CoverFinder } from './find-cover.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry } from './lint-rule.ts'
import type { NamesAround } from './names-around.ts'
import { isInForceWith } from './precedence.ts'

/**
 * The domain itself beside `*.` or `**.` of it. An allow may have been meant to cover it; a deny
 * surely was, when a wider allow leaves the domain open.
 */
export function findApex(
  entry: Entry,
  around: NamesAround,
  finder: CoverFinder,
  budget: Budget,
): Finding[] {
  const { pattern, rule } = entry
  if (pattern.kind !== 'name' || pattern.depth === 'exact') return []
  const { domain } = pattern
  const isSettled = rule.actions.some(
    (action) =>
      around.isCovered('deny', action, domain) ||
      (rule.decision === 'allow'
        ? around.isCovered('allow', action, domain)
        : around.isNamed('allow', action, domain)),
  )
  if (isSettled) return []
  if (rule.decision === 'deny') return findLeftOpen(entry, pattern, finder, budget)
  if (describeBroadDomain(domain) !== null) return []
  return [
    createFinding(
      'apex_not_covered',
      [refer(entry)],
      `${quote(entry.text)} does not cover ${quote(domain)} itself, which no rule names`,
      `add ${quote(domain)} if it is needed`,
    ),
  ]
}

function findLeftOpen(
  entry: Entry,
  pattern: NetworkPattern & { readonly kind: 'name' },
  finder: CoverFinder,
  budget: Budget,
): Finding[] {
  const apex: NetworkPattern = { ...pattern, depth: 'exact' }
  const openers = entry.rule.actions
    .flatMap((action) => [...finder.candidates('allow', action, apex)])
    .filter(
      (other) =>
        isInForceWith(other.rule, entry.rule) && covers(other.pattern, apex, budget) === 'yes',
    )
    .toSorted((a, b) => a.rank - b.rank)
  const [opener] = openers
  if (opener === undefined) return []
  const meant = pattern.port === null ? pattern.domain : `${pattern.domain}:${pattern.port}`
  return [
    createFinding(
      'deny_without_apex',
      [refer(entry), refer(opener)],
      `${quote(entry.text)} does not deny ${quote(pattern.domain)} itself, which ${quote(opener.text)} allows`,
      `deny ${quote(meant)} as well, or allow it by name if it shall stay open`,
    ),
  ]
}

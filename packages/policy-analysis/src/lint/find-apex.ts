import { formatHostPort, isLocalhostName, quote } from '@palisade/policy-core/internal'
import { describeBroadDomain } from './find-broad.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry } from './lint-rule.ts'
import type { NamesAround } from './names-around.ts'

/**
 * Finds allows of `*.` or `**.` below a domain where no rule names the domain itself: the author
 * may have meant it too.
 */
export function findApex(entry: Entry, around: NamesAround): Finding[] {
  const { pattern, rule } = entry
  if (pattern.kind !== 'name' || pattern.depth === 'exact' || rule.decision === 'deny') return []
  const { domain } = pattern
  // A name never opens the machine itself.
  if (isLocalhostName(domain)) return []
  const isSettled = rule.actions.some(
    (action) =>
      around.isCovered('deny', action, domain) || around.isCovered('allow', action, domain),
  )
  if (isSettled || describeBroadDomain(domain) !== null) return []
  return [
    createFinding(
      'apex_not_covered',
      [refer(entry)],
      `${quote(entry.text)} does not cover ${quote(domain)} itself, which no rule names`,
      `add ${quote(formatHostPort(domain, pattern.port))} if it is needed`,
    ),
  ]
}

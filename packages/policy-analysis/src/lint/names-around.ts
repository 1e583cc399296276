import type { Action, RuleDecision } from '@palisade/policy-core'
import { eachEntry, type EntryOfAction, type LintSet } from './lint-rule.ts'

/** Names in the active rules of a set, regardless of ports. */
export interface NamesAround {
  /**
   * Whether some address is allowed: then even names that no rule allows may be reachable.
   */
  readonly hasRanges: (action: Action) => boolean
  /** Whether an allow names the domain itself, or anything below it. */
  readonly hasBelow: (action: Action, domain: string) => boolean
  /** Whether an allow names a domain two or more labels below this one. */
  readonly hasDeeper: (action: Action, domain: string) => boolean
  /** Whether a rule names exactly this name. */
  readonly isNamed: (decision: RuleDecision, action: Action, name: string) => boolean
  /** Whether a rule names this name or covers it by a wildcard. */
  readonly isCovered: (decision: RuleDecision, action: Action, name: string) => boolean
}

export function readNamesAround({ rules }: LintSet): NamesAround {
  const ranges = new Set<Action>()
  const below = new Set<string>()
  const deeper = new Set<string>()
  const patterns = new Set<string>()
  const read = (decision: RuleDecision, { entry, action }: EntryOfAction): void => {
    const { pattern } = entry
    if (pattern.kind === 'name')
      patterns.add(`${decision} ${action} ${pattern.depth} ${pattern.domain}`)
    if (pattern.kind === 'range' && decision === 'allow') ranges.add(action)
    if (pattern.kind !== 'name' || decision === 'deny') return
    const domains = domainsFrom(pattern.domain)
    for (const domain of domains) below.add(`${action} ${domain}`)
    for (const domain of domains.slice(pattern.depth === 'exact' ? 2 : 1))
      deeper.add(`${action} ${domain}`)
  }
  for (const decision of ['allow', 'deny'] as const)
    for (const each of eachEntry(rules, decision)) read(decision, each)
  return {
    hasRanges: (action) => ranges.has(action),
    hasBelow: (action, domain) => below.has(`${action} ${domain}`),
    hasDeeper: (action, domain) => deeper.has(`${action} ${domain}`),
    isNamed: (decision, action, name) => patterns.has(`${decision} ${action} exact ${name}`),
    isCovered: (decision, action, name) => {
      const [, ...above] = domainsFrom(name)
      return (
        patterns.has(`${decision} ${action} exact ${name}`) ||
        patterns.has(`${decision} ${action} one ${above[0]}`) ||
        above.some((domain) => patterns.has(`${decision} ${action} any ${domain}`))
      )
    },
  }
}

/** The domain, and every domain above it. */
function domainsFrom(domain: string): string[] {
  const domains = [domain]
  for (let dot = domain.indexOf('.'); dot >= 0; dot = domain.indexOf('.', dot + 1))
    domains.push(domain.slice(dot + 1))
  return domains
}

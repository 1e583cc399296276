import type { PolicyEntry, RuleEntry } from '../lookup/rule-table.ts'
import type { GrantRule } from '../policy/grant.ts'
import { parseInstant } from '../policy/instant.ts'
import { isShadow, type Policy, type Rule } from '../policy/policy.ts'
import type { Steps } from '../steps.ts'

/** Policies of one origin. */
export interface PolicySource extends Pick<PolicyEntry, 'origin' | 'isFullyActive'> {
  readonly policies: readonly Policy[]
}

/** All rules in the order of decisions: by policy id, then rule id. */
export function* sortRules(sources: readonly PolicySource[]): Steps<RuleEntry[]> {
  const unsorted: PolicyRules[] = []
  for (const source of sources) {
    for (const policy of source.policies) {
      unsorted.push(entriesOf(policy, source))
      yield
    }
  }
  const groups = unsorted.toSorted((a, b) => compare(a.policy.id, b.policy.id))
  const isDistinct = groups.every(
    ({ policy }, index) => index === 0 || policy.id !== groups[index - 1]!.policy.id,
  )
  if (!isDistinct) return groups.flatMap(({ entries }) => entries).toSorted(byIdentity)
  // The common case, in which no rule is compared with rules of other policies.
  const sorted: RuleEntry[][] = []
  for (const { entries } of groups) {
    sorted.push(entries.toSorted(byRule))
    yield
  }
  return sorted.flat()
}

interface PolicyRules {
  readonly policy: PolicyEntry
  readonly entries: readonly RuleEntry[]
}

function entriesOf(source: Policy, { origin, isFullyActive }: PolicySource): PolicyRules {
  const { id, name, allowlist_v0: set } = source
  const policy: PolicyEntry = { id, name, origin, isFullyActive, isShadow: isShadow(source) }
  const entries = (set?.rules ?? []).map((rule) => ({
    policy,
    id: rule.id,
    name: rule.name,
    decision: rule.decision,
    actions: rule.actions,
    resources: rule.resources,
    beginsMs: origin === 'grant' ? beginOf(rule) : -Infinity,
    expiresMs: expiryOf(rule.expires_at),
  }))
  return { policy, entries }
}

/** An unreadable expiry, which `checkRule` refuses before, would be in the past. */
function expiryOf(text: string | undefined): number {
  return text === undefined ? Infinity : (parseInstant(text) ?? -Infinity)
}

/** An unreadable begin, which `findGrantProblems` refuses before, would never come. */
function beginOf(rule: Rule & Partial<GrantRule>): number {
  return parseInstant(rule.not_before ?? '') ?? Infinity
}

/** Compares ids first. The other fields only make the result independent of the input order. */
function byIdentity(a: RuleEntry, b: RuleEntry): number {
  return (
    compare(a.policy.id, b.policy.id) ||
    compare(a.id, b.id) ||
    compare(a.policy.origin, b.policy.origin) ||
    compare(a.policy.name, b.policy.name) ||
    byRule(a, b)
  )
}

/** Compares rules of one policy. */
function byRule(a: RuleEntry, b: RuleEntry): number {
  return (
    compare(a.id, b.id) ||
    compare(a.name, b.name) ||
    compare(JSON.stringify(a.resources), JSON.stringify(b.resources))
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

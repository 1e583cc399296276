import { lint } from '@palisade/policy-core'
import type { FindingBody } from '@palisade/protocol'
import type { RuleRecord } from '../store/records.ts'

/** A larger rule is not looked at: the answer to a write must not wait for it. */
const MAX_RESOURCES = 100

/**
 * Findings of the linter about a rule by itself, such as a pattern that cannot mean what was meant.
 * `palisade lint` also compares rules with each other.
 */
export function findWarnings(rule: RuleRecord): readonly FindingBody[] {
  if (rule.resources.length > MAX_RESOURCES) return []
  // The expiry of a rule is no mistake in it.
  const { expires_at: _, ...lasting } = rule
  const policy = { id: rule.id, name: rule.name, allowlist_v0: { rules: [lasting] } }
  return lint({ policies: [policy] })
    .filter(({ severity, code }) => severity !== 'info' || code === 'opens_protected')
    .map(({ code, severity, message, mend }) => ({ code, severity, message, mend }))
}

import { lint } from '@palisade/policy-analysis'
import type { FindingBody } from '@palisade/protocol'
import type { RuleRecord } from '../store/records.ts'

/**
 * A larger rule is not looked at: the answer to a write must not wait for it, nor other requests.
 * Within these the linter takes some milliseconds, whatever the patterns are.
 */
const MAX_RESOURCES = 100
const MAX_CHARACTERS = 4096
const MAX_STEPS = 10_000
/** No mistakes for certain, but their author must see them. */
const SHOWN: ReadonlySet<string> = new Set(['opens_protected', 'directory_alone'])

/**
 * Findings of the linter about a rule by itself, such as a pattern that cannot mean what was meant.
 * `palisade lint` also compares rules with each other.
 */
export function findWarnings(rule: RuleRecord): readonly FindingBody[] {
  if (rule.resources.length > MAX_RESOURCES) return []
  if (rule.resources.join('').length > MAX_CHARACTERS) return []
  // The expiry of a rule is no mistake in it.
  const { expires_at: _, ...lasting } = rule
  const policy = { id: rule.id, name: rule.name, allowlist_v0: { rules: [lasting] } }
  return lint({ policies: [policy] }, { maxSteps: MAX_STEPS })
    .filter(({ severity, code }) => severity !== 'info' || SHOWN.has(code))
    .map(({ code, severity, message, mend }) => ({ code, severity, message, mend }))
}

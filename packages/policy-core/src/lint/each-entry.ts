import type { Action, RuleDecision } from '../policy/policy.ts'
import type { Entry, LintRule } from './lint-rule.ts'

/** A resource with one action of its rule. */
export interface EntryOfAction {
  readonly entry: Entry
  readonly action: Action
}

/** Every resource of active rules with this decision, once per action, in rank order. */
export function eachEntry(rules: readonly LintRule[], decision: RuleDecision): EntryOfAction[] {
  return rules
    .filter((rule) => rule.active && rule.decision === decision)
    .flatMap((rule) =>
      rule.entries.flatMap((entry) => rule.actions.map((action) => ({ entry, action }))),
    )
}

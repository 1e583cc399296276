import type { Action, Policy, Rule, RuleDecision } from '@palisade/policy-core'

/** A rule whose name says what it does; ids count from the given text. */
export function rule(
  id: string,
  decision: RuleDecision,
  actions: readonly Action[],
  ...resources: string[]
): Rule {
  return { id, name: `${decision} ${id}`, actions, decision, resources }
}

export function policy(id: string, ...rules: Rule[]): Policy {
  return { id, name: `policy ${id}`, scope: {}, allowlist_v0: { rules } }
}

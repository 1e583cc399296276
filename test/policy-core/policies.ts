import type { Action, Policy, Rule, RuleDecision } from '@palisade/policy-core'

/** Creates a rule with a descriptive name. */
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

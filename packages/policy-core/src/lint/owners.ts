import type { FindingRule } from './finding.ts'
import type { LintSet } from './lint-rule.ts'

/** Policies or rules, with the scope in which their ids and names must be unique. */
export interface Owners {
  readonly all: readonly FindingRule[]
  /** The scope: equal for owners whose ids and names must differ. */
  readonly within: (owner: FindingRule) => string
  readonly idOf: (owner: FindingRule) => string
  readonly nameOf: (owner: FindingRule) => string
}

/** The policies and rules of a set. */
export function ownersOf(set: LintSet): { readonly policies: Owners; readonly rules: Owners } {
  const policies = set.policies.map(({ policy, origin }) => ({
    origin,
    policy_id: policy.id,
    policy_name: policy.name,
    rule_id: '',
    rule_name: '',
  }))
  return {
    policies: {
      all: policies,
      within: ({ origin }) => origin,
      idOf: ({ policy_id }) => policy_id,
      nameOf: ({ policy_name }) => policy_name,
    },
    rules: {
      all: set.rules.map(({ identity }) => identity),
      // The name is included because two policies with one id have a finding of their own.
      within: ({ origin, policy_id, policy_name }) => [origin, policy_id, policy_name].join('\0'),
      idOf: ({ rule_id }) => rule_id,
      nameOf: ({ rule_name }) => rule_name,
    },
  }
}

import { domainOf, type Domain } from '@palisade/policy-core'
import type { PolicyBody, PolicySummary, RuleBody, ScopeBody } from '@palisade/protocol'
import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../store/records.ts'

/** The full representation; `allowlist_v0` only while there are rules. */
export function formatPolicy(policy: PolicyRecord): PolicyBody {
  const domain = ruleDomain(policy.rules)
  return {
    ...formatHead(policy),
    ...(domain === null ? {} : { allowlist_v0: { domain, rules: policy.rules.map(formatRule) } }),
  }
}

/** The domain that all rules of a policy share; null without rules. */
export function ruleDomain(rules: readonly Pick<RuleRecord, 'actions'>[]): Domain | null {
  const action = rules[0]?.actions[0]
  return action === undefined ? null : domainOf(action)
}

/** A policy as a list shows it. */
export function formatSummary(policy: PolicyHeadRecord): PolicySummary {
  return { ...formatHead(policy), type: 'allowlist_v0' }
}

export function formatRule(rule: RuleRecord): RuleBody {
  return {
    id: rule.id,
    name: rule.name,
    actions: [...rule.actions],
    decision: rule.decision,
    resources: [...rule.resources],
  }
}

function formatHead(policy: PolicyHeadRecord): Omit<PolicyBody, 'allowlist_v0'> {
  return {
    id: policy.id,
    name: policy.name,
    org: policy.org,
    scope: formatScope(policy.teams),
    created_at: policy.created_at,
    updated_at: policy.updated_at,
  }
}

function formatScope(teams: readonly string[]): ScopeBody {
  return teams.length === 0 ? {} : { teams: [...teams] }
}

import type { PolicyBody, PolicySummary, RuleBody, ScopeBody } from '@palisade/protocol'
import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../store/records.ts'
import { ruleDomain } from '../governance/rule-domain.ts'

/** The full representation; `allowlist_v0` only while there are rules. */
export function formatPolicy(policy: PolicyRecord): PolicyBody {
  const domain = ruleDomain(policy.rules)
  return {
    ...formatHead(policy),
    ...(domain === null ? {} : { allowlist_v0: { domain, rules: policy.rules.map(formatRule) } }),
  }
}

/** What a list shows of a policy. */
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

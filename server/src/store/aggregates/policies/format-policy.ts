import type { Domain } from '@palisade/policy-core'
import { domainOf } from '@palisade/policy-core'
import type {
  DetailedPolicy,
  DetailedPolicySummary,
  DetailedRule,
  PolicyBody,
  PolicySummary,
  RuleBody,
  ScopeBody,
} from '@palisade/protocol'
import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../../records.ts'

/**
 * The full representation of the governance API, which has no `mode` and no `expires_at`;
 * `allowlist_v0` only while there are rules.
 */
export function formatPolicy(policy: PolicyRecord): PolicyBody {
  const domain = ruleDomain(policy.rules)
  return {
    ...formatHead(policy),
    ...(domain === null ? {} : { allowlist_v0: { domain, rules: policy.rules.map(formatRule) } }),
  }
}

/** Formats a policy with all members that a decision depends on. */
export function formatDetailedPolicy(policy: PolicyRecord): DetailedPolicy {
  const domain = ruleDomain(policy.rules)
  const rules = policy.rules.map(formatDetailedRule)
  return {
    ...formatHead(policy),
    ...formatMode(policy),
    ...(domain === null ? {} : { allowlist_v0: { domain, rules } }),
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

export function formatDetailedSummary(policy: PolicyHeadRecord): DetailedPolicySummary {
  return { ...formatSummary(policy), ...formatMode(policy) }
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

export function formatDetailedRule(rule: RuleRecord): DetailedRule {
  const { expires_at } = rule
  return { ...formatRule(rule), ...(expires_at === undefined ? {} : { expires_at }) }
}

function formatMode({ mode }: PolicyHeadRecord): Pick<DetailedPolicy, 'mode'> {
  return mode === undefined ? {} : { mode }
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

import type { PolicyBody, PolicySummary, RuleBody } from '@palisade/protocol'
import type { Style } from '../terminal/style.ts'
import { formatPairs } from '../terminal/pairs.ts'
import { formatTable } from '../terminal/table.ts'

/** Formats policies as a table, or one line for an empty list. */
export function formatPolicyList(policies: readonly PolicySummary[], style: Style): string {
  if (policies.length === 0) return 'no policies; write `palisade policy create NAME`\n'
  return formatTable(
    ['NAME', 'APPLIES TO', 'UPDATED', 'ID'],
    policies.map((policy) => [policy.name, formatScope(policy), policy.updated_at, policy.id]),
    style,
  )
}

/** One policy with its rules. */
export function formatPolicy(policy: PolicyBody, style: Style): string {
  const head = formatPairs(
    [
      ['policy', style.strong(policy.name)],
      ['id', style.plain(policy.id)],
      ['applies to', style.plain(formatScope(policy))],
      ['domain', style.plain(policy.allowlist_v0?.domain ?? 'none yet')],
      ['updated', style.plain(policy.updated_at)],
    ],
    style,
  )
  const rules = policy.allowlist_v0?.rules ?? []
  return rules.length === 0 ? `${head}no rules\n` : `${head}\n${formatRules(rules, style)}`
}

/** Rules as a table, one resource a line. */
export function formatRules(rules: readonly RuleBody[], style: Style): string {
  return formatTable(
    ['RULE', 'DECISION', 'ACTIONS', 'RESOURCES', 'ID'],
    rules.map((rule) => [rule.name, rule.decision, rule.actions, rule.resources, rule.id]),
    style,
  )
}

function formatScope(policy: Pick<PolicyBody, 'scope'>): string {
  const teams = policy.scope.teams ?? []
  if (teams.length === 0) return 'everybody'
  return `${teams.length === 1 ? 'team' : 'teams'} ${teams.join(', ')}`
}

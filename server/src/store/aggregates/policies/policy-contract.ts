import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../../records.ts'

export interface PolicyReader {
  find(org: string, id: string): Promise<PolicyRecord | null>
  findByName(org: string, name: string): Promise<PolicyHeadRecord | null>
  /** At most `limit` policies by ascending id, those after `afterId` (exclusive; '' for all). */
  list(org: string, page: { afterId: string; limit: number }): Promise<PolicyHeadRecord[]>
  /** Every policy with its rules, by ascending id. */
  listWithRules(org: string): Promise<PolicyRecord[]>
  /** Policies whose scope names the team, by ascending id. */
  listUsingTeam(org: string, teamId: string): Promise<PolicyHeadRecord[]>
  count(org: string): Promise<number>
}

/**
 * Each write stamps the policy with the organization's new revision and answers it as it now is.
 */
export interface PolicyWriter extends PolicyReader {
  /** A policy without rules. Throws `ERR_STORE_CONFLICT` (`policy_name`). */
  insert(policy: Omit<PolicyHeadRecord, 'revision'>): Promise<PolicyRecord>
  /** Replaces name, teams, mode and `updated_at`. Throws `ERR_STORE_CONFLICT` (`policy_name`). */
  update(policy: PolicyUpdate): Promise<PolicyRecord>
  delete(org: string, id: string): Promise<void>
  /** Appends. Throws `ERR_STORE_CONFLICT` (`rule_name`), as does `updateRule`. */
  insertRule(at: PolicyEdit, rule: RuleRecord): Promise<PolicyRecord>
  /** Replaces the rule with `rule.id`; it keeps its position. */
  updateRule(at: PolicyEdit, rule: RuleRecord): Promise<PolicyRecord>
  deleteRule(at: PolicyEdit, ruleId: string): Promise<PolicyRecord>
  /** The policy has exactly these rules afterwards, in this order; one revision for all of them. */
  replaceRules(at: PolicyEdit, rules: readonly RuleRecord[]): Promise<PolicyRecord>
}

/** `mode` is required, so that no change of another member ends a shadow policy by omission. */
export interface PolicyUpdate extends Pick<
  PolicyHeadRecord,
  'org' | 'id' | 'name' | 'teams' | 'updated_at'
> {
  readonly mode: PolicyHeadRecord['mode'] | undefined
}

/** The policy whose rules change, and when. */
export interface PolicyEdit {
  readonly org: string
  readonly policyId: string
  readonly updated_at: string
}

/** A table of the schema, and the columns of its primary key. */
export interface Table {
  readonly name: string
  readonly key: readonly string[]
}

/**
 * Every table, each after those that it refers to. Rows that refer to others of their own table
 * come after them in the order of the key.
 */
export const TABLES: readonly Table[] = [
  { name: 'organizations', key: ['name'] },
  { name: 'users', key: ['username'] },
  { name: 'team_claims', key: ['username'] },
  { name: 'known_networks', key: ['username', 'network'] },
  { name: 'memberships', key: ['org', 'username'] },
  { name: 'account_organizations', key: ['username', 'org'] },
  { name: 'invitations', key: ['org', 'username'] },
  { name: 'teams', key: ['id'] },
  { name: 'team_members', key: ['org', 'username', 'team_id'] },
  { name: 'team_approvers', key: ['org', 'team_id', 'username'] },
  { name: 'policies', key: ['id'] },
  { name: 'policy_teams', key: ['policy_id', 'position'] },
  { name: 'rules', key: ['place'] },
  { name: 'access_tokens', key: ['place'] },
  { name: 'enrolment_tokens', key: ['place'] },
  { name: 'pending_revocations', key: ['kind', 'org', 'key'] },
  { name: 'devices', key: ['id'] },
  { name: 'device_labels', key: ['org', 'label', 'device_id'] },
  { name: 'break_glass_grants', key: ['id'] },
  { name: 'device_polls', key: ['device_id'] },
  { name: 'device_reports', key: ['device_id'] },
  { name: 'device_assignments', key: ['device_id'] },
  { name: 'access_requests', key: ['id'] },
  { name: 'signing_keys', key: ['kid'] },
  { name: 'idempotency', key: ['scope'] },
  { name: 'idempotency_callers', key: ['caller'] },
  { name: 'secrets', key: ['name'] },
  { name: 'events', key: ['org', 'sequence'] },
  { name: 'event_heads', key: ['org'] },
  { name: 'history_checkpoints', key: ['org'] },
  { name: 'history_items', key: ['org', 'item'] },
  { name: 'webhooks', key: ['id'] },
  { name: 'webhook_deliveries', key: ['webhook_id', 'sequence'] },
  { name: 'distribution_settings', key: ['org'] },
  { name: 'evidence_settings', key: ['org'] },
  { name: 'access_settings', key: ['org'] },
  { name: 'distribution_keys', key: ['kid'] },
  { name: 'distribution_roots', key: ['org', 'version'] },
  { name: 'rollouts', key: ['id'] },
  { name: 'rollout_policies', key: ['rollout_id', 'policy_id'] },
  { name: 'rollout_watches', key: ['rollout_id'] },
  { name: 'views', key: ['org', 'id'] },
  { name: 'publications', key: ['org', 'view_id', 'version'] },
  { name: 'policy_documents', key: ['org', 'sha256'] },
  { name: 'listed_documents', key: ['place'] },
]

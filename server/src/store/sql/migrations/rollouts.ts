import type { Dialect } from '../dialect.ts'

/** Staged rollouts, the policies that each began with, and when it was judged last. */
export function rollouts({ text, integer, keyed }: Dialect): string {
  return `
  CREATE TABLE rollouts (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    state ${text} NOT NULL CHECK (state IN ('running', 'paused', 'finished', 'rolled_back')),
    stages ${text} NOT NULL,
    stage ${integer} NOT NULL,
    stage_at ${text} NOT NULL,
    max_rejected ${text} NOT NULL,
    wait_seconds ${integer},
    base_revision ${integer} NOT NULL,
    counted_from ${text} NOT NULL,
    paused_at ${text},
    paused_by ${text},
    pause_reason ${text},
    created_at ${text} NOT NULL,
    created_by ${text} NOT NULL,
    ended_at ${text},
    CHECK ((ended_at IS NULL) = (state IN ('running', 'paused')))
  ) ${keyed};
  CREATE UNIQUE INDEX rollouts_open ON rollouts (org) WHERE ended_at IS NULL;
  CREATE INDEX rollouts_by_org ON rollouts (org, created_at);

  CREATE TABLE rollout_policies (
    rollout_id ${text} NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    policy_id ${text} NOT NULL,
    policy ${text} NOT NULL,
    PRIMARY KEY (rollout_id, policy_id)
  ) ${keyed};

  -- Apart for the reason that \`device_polls\` is: what is written here, nobody has to notice.
  CREATE TABLE rollout_watches (
    rollout_id ${text} PRIMARY KEY REFERENCES rollouts (id) ON DELETE CASCADE,
    evaluated_at ${text} NOT NULL,
    policies_hash ${text} NOT NULL,
    policies_since ${text} NOT NULL
  ) ${keyed};
  `
}

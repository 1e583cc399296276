import type { Dialect } from '../../dialect.ts'

/** Policies, their rules, and rollouts of changes to them. */
export function policies(dialect: Dialect): string {
  return [ruleTables(dialect), rolloutTables(dialect)].join('\n')
}

function ruleTables({ text, integer, serial, keyed, numbered }: Dialect): string {
  return `
  CREATE TABLE policies (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    name ${text} NOT NULL,
    created_at ${text} NOT NULL,
    updated_at ${text} NOT NULL,
    revision ${integer} NOT NULL,
    UNIQUE (org, name),
    UNIQUE (org, id)
  ) ${keyed};

  -- Teams that a policy is for, in the order given; no row means the whole organization.
  CREATE TABLE policy_teams (
    org ${text} NOT NULL,
    policy_id ${text} NOT NULL,
    position ${integer} NOT NULL,
    team_id ${text} NOT NULL,
    PRIMARY KEY (policy_id, position),
    FOREIGN KEY (org, policy_id) REFERENCES policies (org, id) ON DELETE CASCADE,
    FOREIGN KEY (org, team_id) REFERENCES teams (org, id) ON DELETE RESTRICT
  ) ${keyed};
  CREATE INDEX policy_teams_by_team ON policy_teams (org, team_id);

  -- Rules of a policy in the order of their insertion; actions and resources are JSON arrays.
  -- Ids begin with the time and come first in their index, so that new ids are neighbours: a
  -- commit of rules of many policies writes one page of it.
  CREATE TABLE rules (
    place ${serial},
    policy_id ${text} NOT NULL REFERENCES policies (id) ON DELETE CASCADE,
    id ${text} NOT NULL,
    name ${text} NOT NULL,
    actions ${text} NOT NULL,
    decision ${text} NOT NULL CHECK (decision IN ('allow', 'deny')),
    resources ${text} NOT NULL
  ) ${numbered};
  CREATE UNIQUE INDEX rules_id_policy_id_key ON rules (id, policy_id);
  CREATE UNIQUE INDEX rules_policy_id_name_key ON rules (policy_id, name);
  `
}

function rolloutTables({ text, integer, keyed }: Dialect): string {
  return `
  -- Staged rollouts; an organization has one open rollout at most.
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

  -- Policies that changed since the rollout began, as they were then (JSON).
  CREATE TABLE rollout_policies (
    rollout_id ${text} NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    policy_id ${text} NOT NULL,
    policy ${text} NOT NULL,
    PRIMARY KEY (rollout_id, policy_id)
  ) ${keyed};

  -- The last evaluation of a rollout; apart from its row for the reason of device_polls.
  CREATE TABLE rollout_watches (
    rollout_id ${text} PRIMARY KEY REFERENCES rollouts (id) ON DELETE CASCADE,
    evaluated_at ${text} NOT NULL,
    policies_hash ${text} NOT NULL,
    policies_since ${text} NOT NULL
  ) ${keyed};
  `
}

import type { Dialect } from '../dialect.ts'

/**
 * Organizations, accounts, policies, devices and what the server keeps for itself.
 *
 * Foreign keys carry the organization's name, so that a row of one organization cannot refer to a
 * row of another even if a caller forgot to ask.
 */
export function initial(dialect: Dialect): string {
  return [accounts(dialect), policies(dialect), credentials(dialect), serverState(dialect)].join(
    '\n',
  )
}

function accounts({ text, integer, keyed }: Dialect): string {
  return `
  CREATE TABLE organizations (
    name ${text} PRIMARY KEY,
    entitled ${integer} NOT NULL,
    revision ${integer} NOT NULL,
    resolve_unlisted_names ${integer} NOT NULL,
    created_at ${text} NOT NULL
  ) ${keyed};

  CREATE TABLE users (
    username ${text} PRIMARY KEY,
    password_hash ${text},
    created_at ${text} NOT NULL
  ) ${keyed};

  CREATE TABLE memberships (
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} NOT NULL REFERENCES users (username),
    role ${text} NOT NULL CHECK (role IN ('owner', 'editor', 'auditor', 'member')),
    PRIMARY KEY (org, username)
  ) ${keyed};
  CREATE INDEX memberships_by_user ON memberships (username);

  CREATE TABLE teams (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    name ${text} NOT NULL,
    UNIQUE (org, name),
    UNIQUE (org, id)
  ) ${keyed};

  CREATE TABLE team_members (
    org ${text} NOT NULL,
    team_id ${text} NOT NULL,
    username ${text} NOT NULL,
    PRIMARY KEY (org, username, team_id),
    FOREIGN KEY (org, team_id) REFERENCES teams (org, id) ON DELETE CASCADE,
    FOREIGN KEY (org, username) REFERENCES memberships (org, username) ON DELETE CASCADE
  ) ${keyed};
  CREATE INDEX team_members_by_team ON team_members (org, team_id);
  `
}

function policies({ text, integer, place, keyed, placed }: Dialect): string {
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

  CREATE TABLE rules (
    place ${place},
    policy_id ${text} NOT NULL REFERENCES policies (id) ON DELETE CASCADE,
    id ${text} NOT NULL,
    name ${text} NOT NULL,
    actions ${text} NOT NULL,
    decision ${text} NOT NULL CHECK (decision IN ('allow', 'deny')),
    resources ${text} NOT NULL,
    UNIQUE (policy_id, id),
    UNIQUE (policy_id, name)
  ) ${placed};
  `
}

function credentials({ text, place, keyed, placed }: Dialect): string {
  return `
  CREATE TABLE access_tokens (
    place ${place},
    id ${text} NOT NULL UNIQUE,
    org ${text} REFERENCES organizations (name),
    username ${text} REFERENCES users (username),
    name ${text} NOT NULL,
    permissions ${text} NOT NULL,
    secret_hash ${text} NOT NULL UNIQUE,
    created_at ${text} NOT NULL,
    expires_at ${text} NOT NULL,
    revoked_at ${text},
    parent_id ${text} REFERENCES access_tokens (id),
    CHECK ((org IS NULL) <> (username IS NULL))
  ) ${placed};
  CREATE INDEX access_tokens_by_org ON access_tokens (org) WHERE org IS NOT NULL;
  CREATE INDEX access_tokens_by_user ON access_tokens (username) WHERE username IS NOT NULL;
  CREATE INDEX access_tokens_by_parent ON access_tokens (parent_id) WHERE parent_id IS NOT NULL;

  CREATE TABLE devices (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} REFERENCES users (username),
    token_hash ${text} NOT NULL UNIQUE,
    created_at ${text} NOT NULL,
    revoked_at ${text}
  ) ${keyed};
  CREATE INDEX devices_by_user ON devices (org, username);
  `
}

function serverState({ text, integer, bytes, keyed, placed }: Dialect): string {
  return `
  CREATE TABLE signing_keys (
    kid ${text} PRIMARY KEY,
    purpose ${text} NOT NULL CHECK (purpose IN ('access_token', 'bundle')),
    private_jwk ${text} NOT NULL,
    created_at ${text} NOT NULL
  ) ${keyed};

  CREATE TABLE idempotency (
    scope ${text} PRIMARY KEY,
    body_hash ${text} NOT NULL,
    status ${integer} NOT NULL,
    headers ${text} NOT NULL,
    body ${text} NOT NULL,
    expires_at ${text} NOT NULL
  ) ${placed};
  CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

  CREATE TABLE secrets (
    name ${text} PRIMARY KEY,
    value ${bytes} NOT NULL
  ) ${keyed};
  `
}

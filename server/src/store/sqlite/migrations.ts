/**
 * The schema, as steps that only go forward; the step at index n leads to version n + 1
 * (`PRAGMA user_version`). A released step is never edited.
 *
 * Foreign keys carry the organization's name, so that a row of one organization cannot refer to a
 * row of another even if a caller forgot to ask.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE organizations (
    name TEXT PRIMARY KEY,
    entitled INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    resolve_unlisted_names INTEGER NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE users (
    username TEXT PRIMARY KEY,
    password_hash TEXT,
    created_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE memberships (
    org TEXT NOT NULL REFERENCES organizations (name),
    username TEXT NOT NULL REFERENCES users (username),
    role TEXT NOT NULL CHECK (role IN ('owner', 'editor', 'auditor', 'member')),
    PRIMARY KEY (org, username)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX memberships_by_user ON memberships (username);

  CREATE TABLE teams (
    id TEXT PRIMARY KEY,
    org TEXT NOT NULL REFERENCES organizations (name),
    name TEXT NOT NULL,
    UNIQUE (org, name),
    UNIQUE (org, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE team_members (
    org TEXT NOT NULL,
    team_id TEXT NOT NULL,
    username TEXT NOT NULL,
    PRIMARY KEY (org, username, team_id),
    FOREIGN KEY (org, team_id) REFERENCES teams (org, id) ON DELETE CASCADE,
    FOREIGN KEY (org, username) REFERENCES memberships (org, username) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX team_members_by_team ON team_members (org, team_id);

  CREATE TABLE policies (
    id TEXT PRIMARY KEY,
    org TEXT NOT NULL REFERENCES organizations (name),
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    revision INTEGER NOT NULL,
    UNIQUE (org, name),
    UNIQUE (org, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE policy_teams (
    org TEXT NOT NULL,
    policy_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    team_id TEXT NOT NULL,
    PRIMARY KEY (policy_id, position),
    FOREIGN KEY (org, policy_id) REFERENCES policies (org, id) ON DELETE CASCADE,
    FOREIGN KEY (org, team_id) REFERENCES teams (org, id) ON DELETE RESTRICT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX policy_teams_by_team ON policy_teams (org, team_id);

  CREATE TABLE rules (
    place INTEGER PRIMARY KEY,
    policy_id TEXT NOT NULL REFERENCES policies (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    actions TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('allow', 'deny')),
    resources TEXT NOT NULL,
    UNIQUE (policy_id, id),
    UNIQUE (policy_id, name)
  ) STRICT;

  CREATE TABLE access_tokens (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    org TEXT REFERENCES organizations (name),
    username TEXT REFERENCES users (username),
    name TEXT NOT NULL,
    permissions TEXT NOT NULL,
    secret_hash TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    revoked_at TEXT,
    parent_id TEXT REFERENCES access_tokens (id),
    CHECK ((org IS NULL) <> (username IS NULL))
  ) STRICT;
  CREATE INDEX access_tokens_by_org ON access_tokens (org) WHERE org IS NOT NULL;
  CREATE INDEX access_tokens_by_user ON access_tokens (username) WHERE username IS NOT NULL;
  CREATE INDEX access_tokens_by_parent ON access_tokens (parent_id) WHERE parent_id IS NOT NULL;

  CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    org TEXT NOT NULL REFERENCES organizations (name),
    username TEXT REFERENCES users (username),
    token_hash TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    revoked_at TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX devices_by_user ON devices (org, username);

  CREATE TABLE signing_keys (
    kid TEXT PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('access_token', 'bundle')),
    private_jwk TEXT NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE idempotency (
    scope TEXT PRIMARY KEY,
    body_hash TEXT NOT NULL,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    body TEXT NOT NULL,
    expires_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

  CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
]

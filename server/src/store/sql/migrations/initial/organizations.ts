import type { Dialect } from '../../dialect.ts'

/** Organizations, accounts, membership and teams. */
export function organizations({ text, integer, keyed }: Dialect): string {
  return `
  CREATE TABLE organizations (
    name ${text} PRIMARY KEY,
    entitled ${integer} NOT NULL,
    revision ${integer} NOT NULL,
    resolve_unlisted_names ${integer} NOT NULL,
    created_at ${text} NOT NULL
  ) ${keyed};

  -- Settings for the machines of an organization, as JSON; no row means the defaults.
  CREATE TABLE distribution_settings (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    settings ${text} NOT NULL
  ) ${keyed};

  CREATE TABLE users (
    username ${text} PRIMARY KEY,
    password_hash ${text},
    password_generation ${integer} NOT NULL DEFAULT 0,
    external_not_before ${text},
    teams_synced_iat ${integer},
    failed_sign_ins ${integer} NOT NULL DEFAULT 0,
    created_at ${text} NOT NULL
  ) ${keyed};

  -- Team names in the external issuer's tokens of users.teams_synced_iat, as JSON.
  CREATE TABLE team_claims (
    username ${text} PRIMARY KEY REFERENCES users (username),
    names ${text} NOT NULL
  ) ${keyed};

  -- The newest networks from which a user has signed in with a password.
  CREATE TABLE known_networks (
    username ${text} NOT NULL REFERENCES users (username),
    network ${text} NOT NULL,
    seen_at ${text} NOT NULL,
    PRIMARY KEY (username, network)
  ) ${keyed};

  CREATE TABLE memberships (
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} NOT NULL REFERENCES users (username),
    role ${text} NOT NULL CHECK (role IN ('owner', 'editor', 'auditor', 'member')),
    PRIMARY KEY (org, username)
  ) ${keyed};
  CREATE INDEX memberships_by_user ON memberships (username);
  -- Owners alone: an organization may have 100,000 other members.
  CREATE INDEX memberships_of_owners ON memberships (org, username) WHERE role = 'owner';

  -- Organizations that own a user's account. A row outlives the membership, so that another
  -- organization cannot take over the account of a user who has left.
  CREATE TABLE account_organizations (
    username ${text} NOT NULL REFERENCES users (username),
    org ${text} NOT NULL REFERENCES organizations (name),
    PRIMARY KEY (username, org)
  ) ${keyed};

  -- Memberships that an organization offers, until the user accepts or declines.
  CREATE TABLE invitations (
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} NOT NULL REFERENCES users (username),
    role ${text} NOT NULL CHECK (role IN ('owner', 'editor', 'auditor', 'member')),
    invited_by ${text} NOT NULL,
    created_at ${text} NOT NULL,
    PRIMARY KEY (org, username)
  ) ${keyed};
  CREATE INDEX invitations_by_user ON invitations (username);

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

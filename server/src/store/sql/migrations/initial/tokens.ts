import type { Dialect } from '../../dialect.ts'

/**
 * Tokens of people, organizations and machines, and revocations of many of them. Indexes hold live
 * tokens alone, because revoked tokens stay in the table.
 */
export function tokens({ text, integer, serial, keyed, numbered }: Dialect): string {
  return `
  -- Personal tokens have a username, tokens of an organization an org.
  CREATE TABLE access_tokens (
    place ${serial},
    id ${text} NOT NULL UNIQUE,
    org ${text} REFERENCES organizations (name),
    username ${text} REFERENCES users (username),
    name ${text} NOT NULL,
    permissions ${text} NOT NULL,
    secret_hash ${text} NOT NULL UNIQUE,
    prefix ${text} NOT NULL,
    parent_id ${text} REFERENCES access_tokens (id),
    created_at ${text} NOT NULL,
    created_by ${text} NOT NULL,
    last_used_at ${text},
    expires_at ${text} NOT NULL,
    revoked_at ${text},
    CHECK ((org IS NULL) <> (username IS NULL))
  ) ${numbered};
  CREATE INDEX access_tokens_by_org ON access_tokens (org, place)
    WHERE org IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX access_tokens_by_user ON access_tokens (username, place)
    WHERE username IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX access_tokens_by_author ON access_tokens (created_by, place)
    WHERE org IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX access_tokens_by_parent ON access_tokens (parent_id, place)
    WHERE parent_id IS NOT NULL AND revoked_at IS NULL;
  -- For the counts of quotas.
  CREATE INDEX access_tokens_live_by_user ON access_tokens (username, expires_at)
    WHERE username IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX access_tokens_live_by_org ON access_tokens (org, expires_at)
    WHERE org IS NOT NULL AND revoked_at IS NULL;

  -- Tokens with which machines enrol themselves.
  CREATE TABLE enrolment_tokens (
    place ${serial},
    id ${text} NOT NULL UNIQUE,
    org ${text} NOT NULL REFERENCES organizations (name),
    name ${text} NOT NULL,
    labels ${text} NOT NULL,
    secret_hash ${text} NOT NULL UNIQUE,
    prefix ${text} NOT NULL,
    root_version ${integer} NOT NULL,
    max_uses ${integer} NOT NULL,
    uses ${integer} NOT NULL,
    parent_id ${text} REFERENCES access_tokens (id),
    created_at ${text} NOT NULL,
    created_by ${text} NOT NULL,
    last_used_at ${text},
    expires_at ${text} NOT NULL,
    revoked_at ${text},
    CHECK (uses <= max_uses)
  ) ${numbered};
  CREATE INDEX enrolment_tokens_by_org ON enrolment_tokens (org, place)
    WHERE revoked_at IS NULL;
  CREATE INDEX enrolment_tokens_by_author ON enrolment_tokens (org, created_by)
    WHERE revoked_at IS NULL;
  -- For the counts of quotas.
  CREATE INDEX enrolment_tokens_live ON enrolment_tokens (org, expires_at)
    WHERE revoked_at IS NULL;

  -- Revocations of many tokens, which count at once and are noted with each token afterwards.
  -- They cover tokens up to the place "through", by kind: child: made with the access token
  -- "key"; personal: those of user "key"; made: access tokens, and enrolment: enrolment tokens,
  -- that actor "key" made for "org".
  CREATE TABLE pending_revocations (
    kind ${text} NOT NULL CHECK (kind IN ('child', 'personal', 'made', 'enrolment')),
    org ${text} NOT NULL,
    key ${text} NOT NULL,
    through ${integer} NOT NULL,
    revoked_at ${text} NOT NULL,
    PRIMARY KEY (kind, org, key)
  ) ${keyed};
  `
}

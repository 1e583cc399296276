import type { Dialect } from '../dialect.ts'

/** What machines may enrol themselves with. */
export function enrolmentTokens({ text, integer, place, placed }: Dialect): string {
  return `
  CREATE TABLE enrolment_tokens (
    place ${place},
    id ${text} NOT NULL UNIQUE,
    org ${text} NOT NULL REFERENCES organizations (name),
    name ${text} NOT NULL,
    labels ${text} NOT NULL,
    secret_hash ${text} NOT NULL UNIQUE,
    prefix ${text} NOT NULL,
    root_version ${integer} NOT NULL,
    max_uses ${integer} NOT NULL,
    uses ${integer} NOT NULL,
    last_used_at ${text},
    created_at ${text} NOT NULL,
    created_by ${text} NOT NULL,
    parent_id ${text} REFERENCES access_tokens (id),
    expires_at ${text} NOT NULL,
    revoked_at ${text},
    CHECK (uses <= max_uses)
  ) ${placed};
  CREATE INDEX enrolment_tokens_by_org ON enrolment_tokens (org);
  `
}

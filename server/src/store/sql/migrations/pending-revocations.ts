import type { Dialect } from '../dialect.ts'

/** Revocations of many tokens, which count at once and are noted with each token afterwards. */
export function pendingRevocations({ text, integer, keyed }: Dialect): string {
  return `
  -- kind, of tokens up to the place \`through\`: child: what was made with the access token \`key\`;
  -- personal: those of user \`key\`; made: access tokens, and enrolment: enrolment tokens, that actor
  -- \`key\` made for \`org\`.
  CREATE TABLE pending_revocations (
    kind ${text} NOT NULL CHECK (kind IN ('child', 'personal', 'made', 'enrolment')),
    org ${text} NOT NULL,
    key ${text} NOT NULL,
    through ${integer} NOT NULL,
    revoked_at ${text} NOT NULL,
    PRIMARY KEY (kind, org, key)
  ) ${keyed};

  DROP INDEX access_tokens_by_parent;
  CREATE INDEX access_tokens_by_parent ON access_tokens (parent_id, place)
    WHERE parent_id IS NOT NULL AND revoked_at IS NULL;
  `
}

/**
 * Indexes for lists. Events have one that holds all that filters ask about, in the order of the
 * history, so a write appends to it. Tokens have their live rows alone, because revoked ones stay
 * in the table.
 */
export function listingIndexes(): string {
  return `
  CREATE INDEX events_by_filter ON events (org, sequence, kind, actor, at);

  DROP INDEX access_tokens_by_org;
  DROP INDEX access_tokens_by_user;
  CREATE INDEX access_tokens_by_org ON access_tokens (org, place)
    WHERE org IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX access_tokens_by_user ON access_tokens (username, place)
    WHERE username IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX access_tokens_by_author ON access_tokens (created_by, place)
    WHERE org IS NOT NULL AND revoked_at IS NULL;

  DROP INDEX enrolment_tokens_by_org;
  CREATE INDEX enrolment_tokens_by_org ON enrolment_tokens (org, place)
    WHERE revoked_at IS NULL;
  CREATE INDEX enrolment_tokens_by_author ON enrolment_tokens (org, created_by)
    WHERE revoked_at IS NULL;
  `
}

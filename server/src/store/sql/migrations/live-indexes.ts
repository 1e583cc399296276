/** What counts of live tokens and devices read, so that a quota costs little. */
export function liveIndexes(): string {
  return `
  CREATE INDEX access_tokens_live_by_user ON access_tokens (username, expires_at)
    WHERE username IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX access_tokens_live_by_org ON access_tokens (org, expires_at)
    WHERE org IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX enrolment_tokens_live ON enrolment_tokens (org, expires_at)
    WHERE revoked_at IS NULL;
  CREATE INDEX devices_live ON devices (org, username) WHERE revoked_at IS NULL;
  `
}

import type { Dialect } from '../dialect.ts'

/** Users whom an organization would have as members, until they answer. */
export function invitations({ text, keyed }: Dialect): string {
  return `
  CREATE TABLE invitations (
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} NOT NULL REFERENCES users (username),
    role ${text} NOT NULL CHECK (role IN ('owner', 'editor', 'auditor', 'member')),
    invited_by ${text} NOT NULL,
    created_at ${text} NOT NULL,
    PRIMARY KEY (org, username)
  ) ${keyed};
  CREATE INDEX invitations_by_user ON invitations (username);
  `
}

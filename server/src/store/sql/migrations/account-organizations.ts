import type { Dialect } from '../dialect.ts'

/**
 * Whose a user's account is: it stays so when he leaves, so that nobody else can take it over
 * meanwhile. Nothing had told these organizations from others that added him later.
 */
export function accountOrganizations({ text, keyed }: Dialect): string {
  return `
  CREATE TABLE account_organizations (
    username ${text} NOT NULL REFERENCES users (username),
    org ${text} NOT NULL REFERENCES organizations (name),
    PRIMARY KEY (username, org)
  ) ${keyed};
  INSERT INTO account_organizations (username, org) SELECT username, org FROM memberships;
  `
}

import type { Dialect } from '../dialect.ts'

/**
 * What the issuer's tokens of `teams_synced_iat` name, all of them. Of those of before it is not
 * known, so all of that second count as older ones from now on.
 */
export function teamClaims({ text, keyed }: Dialect): string {
  return `
  CREATE TABLE team_claims (
    username ${text} PRIMARY KEY REFERENCES users (username),
    names ${text} NOT NULL
  ) ${keyed};

  UPDATE users SET teams_synced_iat = teams_synced_iat + 1 WHERE teams_synced_iat IS NOT NULL;
  `
}

import type { Dialect } from '../dialect.ts'

/** Which token of an external issuer the teams of a user follow. */
export function teamsSynced({ integer }: Dialect): string {
  return `
  ALTER TABLE users ADD COLUMN teams_synced_iat ${integer};
  `
}

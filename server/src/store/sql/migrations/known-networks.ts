import type { Dialect } from '../dialect.ts'

/** The networks that a user has signed in from with a password, the newest few of each. */
export function knownNetworks({ text, keyed }: Dialect): string {
  return `
  CREATE TABLE known_networks (
    username ${text} NOT NULL REFERENCES users (username),
    network ${text} NOT NULL,
    seen_at ${text} NOT NULL,
    PRIMARY KEY (username, network)
  ) ${keyed};
  `
}

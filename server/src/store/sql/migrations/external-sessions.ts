import type { Dialect } from '../dialect.ts'

/** When the sessions of an external issuer were ended that a user had until then. */
export function externalSessions({ text }: Dialect): string {
  return `
  ALTER TABLE users ADD COLUMN external_not_before ${text};
  `
}

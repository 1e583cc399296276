import type { Dialect } from '../dialect.ts'

/** Signing keys that are followed by others, and what an account page shows of tokens. */
export function accounts({ text, integer }: Dialect): string {
  return `
  ALTER TABLE signing_keys ADD COLUMN verifies_until ${text};

  ALTER TABLE users ADD COLUMN password_generation ${integer} NOT NULL DEFAULT 0;

  ALTER TABLE access_tokens ADD COLUMN prefix ${text};
  ALTER TABLE access_tokens ADD COLUMN created_by ${text};
  ALTER TABLE access_tokens ADD COLUMN last_used_at ${text};
  `
}

import type { Dialect } from '../dialect.ts'

/** How many wrong passwords there have been of a user, as far as they are in the history. */
export function failedSignIns({ integer }: Dialect): string {
  return `
  ALTER TABLE users ADD COLUMN failed_sign_ins ${integer} NOT NULL DEFAULT 0;
  `
}

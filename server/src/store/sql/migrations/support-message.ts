import type { Dialect } from '../dialect.ts'

/** The text that an organization shows after each denial by its policies. */
export function supportMessage({ text }: Dialect): string {
  return `
  -- Null: no text.
  ALTER TABLE organizations ADD COLUMN support_message ${text};
  `
}

import type { Dialect } from '../dialect.ts'

/** What an organization has chosen for its machines, as JSON; no row while it has chosen nothing. */
export function distributionSettings({ text, keyed }: Dialect): string {
  return `
  CREATE TABLE distribution_settings (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    settings ${text} NOT NULL
  ) ${keyed};
  `
}

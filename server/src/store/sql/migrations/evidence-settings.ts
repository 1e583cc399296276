import type { Dialect } from '../dialect.ts'

/** Which decision records the machines of an organization upload. */
export function evidenceSettings({ text, keyed }: Dialect): string {
  return `
  -- As JSON; no row means the defaults.
  CREATE TABLE evidence_settings (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    settings ${text} NOT NULL
  ) ${keyed};
  `
}

import type { Dialect } from '../dialect.ts'

/** Grants that were issued, and which one a machine says to be in force. */
export function breakGlass({ text, integer, keyed }: Dialect): string {
  return `
  CREATE TABLE break_glass_grants (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    device_id ${text} NOT NULL REFERENCES devices (id),
    reason ${text} NOT NULL,
    issued_by ${text} NOT NULL,
    issued_at ${text} NOT NULL,
    use_by ${text} NOT NULL,
    duration_seconds ${integer} NOT NULL,
    over_at ${text} NOT NULL
  ) ${keyed};
  CREATE INDEX break_glass_grants_by_device ON break_glass_grants (device_id, over_at);
  ALTER TABLE device_reports ADD COLUMN grant_id ${text};
  ALTER TABLE device_reports ADD COLUMN grant_begun_at ${text};
  `
}

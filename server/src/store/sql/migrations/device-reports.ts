import type { Dialect } from '../dialect.ts'

/** The newest report of each device; apart from its row for the reason that `device_polls` is. */
export function deviceReports({ text, integer, keyed }: Dialect): string {
  return `
  CREATE TABLE device_reports (
    device_id ${text} PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    reported_at ${text} NOT NULL,
    revision ${integer},
    state ${text} NOT NULL,
    error_code ${text},
    error_detail ${text},
    agent_version ${text} NOT NULL
  ) ${keyed};
  `
}

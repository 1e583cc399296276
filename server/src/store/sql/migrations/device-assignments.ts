import type { Dialect } from '../dialect.ts'

/** The view that each device was assigned to last; apart from its row for the reason that `device_polls` is. */
export function deviceAssignments({ text, integer, keyed }: Dialect): string {
  return `
  CREATE TABLE device_assignments (
    device_id ${text} PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    view_id ${text} NOT NULL,
    version ${integer} NOT NULL
  ) ${keyed};
  `
}

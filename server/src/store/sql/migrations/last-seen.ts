import type { Dialect } from '../dialect.ts'

/**
 * When each device last polled. A table of its own: it is written all the time, and the row of a
 * device never.
 */
export function lastSeen({ text, keyed }: Dialect): string {
  return `
  CREATE TABLE device_polls (
    device_id ${text} PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    seen_at ${text} NOT NULL
  ) ${keyed};
  `
}

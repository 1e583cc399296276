import type { Dialect } from '../dialect.ts'

/** How many bytes the events of each organization take, as `eventBytes` counts them. */
export function historyBytes({ integer }: Dialect): string {
  return `
  ALTER TABLE event_heads ADD COLUMN bytes ${integer} NOT NULL DEFAULT 0;

  UPDATE event_heads SET bytes = coalesce((
    SELECT sum(512 + octet_length(subject)
      + coalesce(octet_length(before_state), 0) + coalesce(octet_length(after_state), 0))
    FROM events WHERE events.org = event_heads.org), 0);
  `
}

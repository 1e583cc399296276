import type { Dialect } from '../dialect.ts'

/** Where events are delivered to, how far that has come, and what became of each. */
export function webhooks({ text, integer, keyed }: Dialect): string {
  return `
  CREATE TABLE webhooks (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    url ${text} NOT NULL,
    enabled ${integer} NOT NULL,
    secret ${text} NOT NULL,
    secret_created_at ${text} NOT NULL,
    previous_secret ${text},
    previous_secret_until ${text},
    created_at ${text} NOT NULL,
    -- Events up to here are delivered or given up.
    delivered_sequence ${integer} NOT NULL,
    attempts ${integer} NOT NULL,
    next_attempt_at ${text} NOT NULL,
    lease_owner ${text},
    lease_until ${text}
  ) ${keyed};
  CREATE INDEX webhooks_by_org ON webhooks (org);

  CREATE TABLE webhook_deliveries (
    webhook_id ${text} NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    sequence ${integer} NOT NULL,
    state ${text} NOT NULL CHECK (state IN ('pending', 'retrying', 'delivered', 'dead')),
    attempts ${integer} NOT NULL,
    status ${integer},
    error ${text},
    attempted_at ${text},
    next_attempt_at ${text},
    PRIMARY KEY (webhook_id, sequence)
  ) ${keyed};
  CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id)
    WHERE state = 'pending';
  `
}

import type { Dialect } from '../../dialect.ts'

/** The history of each organization, and its delivery to webhooks. */
export function history(dialect: Dialect): string {
  return [eventTables(dialect), webhookTables(dialect)].join('\n')
}

function eventTables({ text, integer, keyed, numbered }: Dialect): string {
  return `
  -- One chain of hashes for each organization; states and subject are JSON.
  CREATE TABLE events (
    org ${text} NOT NULL REFERENCES organizations (name),
    sequence ${integer} NOT NULL,
    at ${text} NOT NULL,
    kind ${text} NOT NULL,
    actor ${text} NOT NULL,
    address ${text},
    request_id ${text},
    subject ${text} NOT NULL,
    before_state ${text},
    after_state ${text},
    revision ${integer} NOT NULL,
    previous_hash ${text} NOT NULL,
    hash ${text} NOT NULL,
    PRIMARY KEY (org, sequence)
  ) ${numbered};
  -- All columns that filters ask about, in the order of the history, so that a write appends.
  CREATE INDEX events_by_filter ON events (org, sequence, kind, actor, at);

  -- The newest event of each organization, and the bytes of its events, as eventBytes counts them.
  CREATE TABLE event_heads (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    sequence ${integer} NOT NULL,
    hash ${text} NOT NULL,
    bytes ${integer} NOT NULL DEFAULT 0
  ) ${keyed};

  -- The last removed event of a pruned history. is_whole: the history began with the organization.
  CREATE TABLE history_checkpoints (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    sequence ${integer} NOT NULL,
    hash ${text} NOT NULL,
    is_whole ${integer} NOT NULL
  ) ${keyed};

  -- The state of each item after the removed events.
  CREATE TABLE history_items (
    org ${text} NOT NULL REFERENCES organizations (name),
    item ${text} NOT NULL,
    recorded ${text} NOT NULL,
    PRIMARY KEY (org, item)
  ) ${keyed};
  `
}

function webhookTables({ text, integer, keyed }: Dialect): string {
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
    -- The server that delivers at present.
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

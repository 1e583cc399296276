import type { Dialect } from '../../dialect.ts'

/** Machines and their reports. */
export function devices({ text, integer, keyed }: Dialect): string {
  return `
  -- Machines are known by the thumbprint of their key (RFC 7638).
  CREATE TABLE devices (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} REFERENCES users (username),
    thumbprint ${text} NOT NULL UNIQUE,
    name ${text},
    labels ${text} NOT NULL,
    enrolment_token_id ${text} REFERENCES enrolment_tokens (id),
    created_at ${text} NOT NULL,
    revoked_at ${text}
  ) ${keyed};
  -- In the order of pages.
  CREATE INDEX devices_by_org ON devices (org, id);
  CREATE INDEX devices_by_user ON devices (org, username, id);
  CREATE INDEX devices_live_by_id ON devices (org, id) WHERE revoked_at IS NULL;
  -- For the counts of quotas.
  CREATE INDEX devices_live ON devices (org, username) WHERE revoked_at IS NULL;

  -- The labels of devices.labels, to search by.
  CREATE TABLE device_labels (
    org ${text} NOT NULL,
    label ${text} NOT NULL,
    device_id ${text} NOT NULL REFERENCES devices (id),
    PRIMARY KEY (org, label, device_id)
  ) ${keyed};

  -- The last poll of each device; apart from its row, because polls are written all the time and
  -- caches of devices must not notice.
  CREATE TABLE device_polls (
    device_id ${text} PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    seen_at ${text} NOT NULL
  ) ${keyed};

  -- The newest report of each device; apart for the reason of device_polls.
  CREATE TABLE device_reports (
    device_id ${text} PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    reported_at ${text} NOT NULL,
    revision ${integer},
    state ${text} NOT NULL,
    error_code ${text},
    error_detail ${text},
    grant_id ${text},
    grant_begun_at ${text},
    agent_version ${text} NOT NULL
  ) ${keyed};

  -- The view last assigned to each device; apart for the reason of device_polls.
  CREATE TABLE device_assignments (
    device_id ${text} PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    view_id ${text} NOT NULL,
    version ${integer} NOT NULL
  ) ${keyed};

  -- Break-glass grants that were issued; the signed file itself is not kept.
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
  `
}

import type { Dialect } from '../dialect.ts'

/**
 * Devices are known by their keys. Those of before had a secret instead, which nothing takes any
 * more: they stay in the list, and have to be enrolled again. A column that is UNIQUE can be dropped
 * in one database and not in the other, so the tables are made anew.
 */
export function deviceKeys({ text, keyed }: Dialect): string {
  return `
  CREATE TABLE devices_with_keys (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} REFERENCES users (username),
    thumbprint ${text} UNIQUE,
    labels ${text} NOT NULL,
    enrolment_token_id ${text} REFERENCES enrolment_tokens (id),
    created_at ${text} NOT NULL,
    revoked_at ${text}
  ) ${keyed};
  INSERT INTO devices_with_keys (id, org, username, labels, created_at, revoked_at)
    SELECT id, org, username, '[]', created_at, revoked_at FROM devices;

  CREATE TABLE polls_of_devices (
    device_id ${text} PRIMARY KEY REFERENCES devices_with_keys (id) ON DELETE CASCADE,
    seen_at ${text} NOT NULL
  ) ${keyed};
  INSERT INTO polls_of_devices (device_id, seen_at) SELECT device_id, seen_at FROM device_polls;

  DROP TABLE device_polls;
  DROP TABLE devices;
  ALTER TABLE devices_with_keys RENAME TO devices;
  ALTER TABLE polls_of_devices RENAME TO device_polls;
  CREATE INDEX devices_by_user ON devices (org, username);
  `
}

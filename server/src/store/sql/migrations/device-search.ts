import type { Dialect } from '../dialect.ts'

/**
 * Devices in the order of their pages, by user and by label. A page of one organization otherwise
 * sorts all its devices each time.
 */
export function deviceSearch({ text, keyed, elementsOf }: Dialect): string {
  return `
  CREATE INDEX devices_by_org ON devices (org, id);
  DROP INDEX devices_by_user;
  CREATE INDEX devices_by_user ON devices (org, username, id);
  CREATE INDEX devices_live_by_id ON devices (org, id) WHERE revoked_at IS NULL;

  CREATE TABLE device_labels (
    org ${text} NOT NULL,
    label ${text} NOT NULL,
    device_id ${text} NOT NULL REFERENCES devices (id),
    PRIMARY KEY (org, label, device_id)
  ) ${keyed};
  INSERT INTO device_labels (org, label, device_id)
    SELECT devices.org, element.value, devices.id
    FROM devices CROSS JOIN ${elementsOf('devices.labels')} AS element;
  `
}

import type { Dialect } from '../dialect.ts'

/** Requests for access, their grants, and who may answer them. */
export function accessRequests({ text, integer, keyed }: Dialect): string {
  return `
  -- As JSON; no row means the defaults.
  CREATE TABLE access_settings (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    settings ${text} NOT NULL
  ) ${keyed};

  CREATE TABLE team_approvers (
    org ${text} NOT NULL,
    team_id ${text} NOT NULL,
    username ${text} NOT NULL,
    PRIMARY KEY (org, team_id, username),
    FOREIGN KEY (org, team_id) REFERENCES teams (org, id) ON DELETE CASCADE,
    FOREIGN KEY (org, username) REFERENCES memberships (org, username) ON DELETE CASCADE
  ) ${keyed};
  CREATE INDEX team_approvers_by_user ON team_approvers (org, username, team_id);

  CREATE TABLE access_requests (
    id ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    username ${text} NOT NULL REFERENCES users (username),
    device_id ${text} REFERENCES devices (id),
    state ${text} NOT NULL,
    action ${text} NOT NULL,
    resources ${text} NOT NULL,
    duration_seconds ${integer} NOT NULL,
    once ${integer} NOT NULL,
    reason ${text} NOT NULL,
    created_at ${text} NOT NULL,
    due_at ${text},
    decided_at ${text},
    decided_by ${text},
    answer ${text},
    -- As JSON.
    granted ${text},
    -- Counts the grants of all organizations that have begun or were revoked.
    grant_change ${integer} NOT NULL
  ) ${keyed};
  -- In the order of pages.
  CREATE INDEX access_requests_by_org ON access_requests (org, id);
  CREATE INDEX access_requests_by_user ON access_requests (org, username, id);
  CREATE INDEX access_requests_by_state ON access_requests (org, state, id);
  CREATE INDEX access_requests_by_device ON access_requests (device_id)
    WHERE device_id IS NOT NULL;
  CREATE INDEX access_requests_open ON access_requests (org, username, id)
    WHERE due_at IS NOT NULL;
  CREATE INDEX access_requests_due ON access_requests (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX access_requests_by_change ON access_requests (grant_change);
  `
}

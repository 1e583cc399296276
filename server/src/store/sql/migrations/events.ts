import type { Dialect } from '../dialect.ts'

/** The history of each organization, and its head. */
export function events({ text, integer, keyed, placed }: Dialect): string {
  return `
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
  ) ${placed};

  CREATE TABLE event_heads (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    sequence ${integer} NOT NULL,
    hash ${text} NOT NULL
  ) ${keyed};

  -- Organizations made before there was a history: theirs starts with the next change.
  INSERT INTO event_heads (org, sequence, hash)
    SELECT name, 0, '${'0'.repeat(64)}' FROM organizations;
  `
}

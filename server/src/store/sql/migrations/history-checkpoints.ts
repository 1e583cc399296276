import type { Dialect } from '../dialect.ts'

/** Where the history of an organization begins once its oldest events are removed. */
export function historyCheckpoints({ text, integer, keyed }: Dialect): string {
  return `
  -- The last removed event. is_whole: the history began with the organization.
  CREATE TABLE history_checkpoints (
    org ${text} PRIMARY KEY REFERENCES organizations (name),
    sequence ${integer} NOT NULL,
    hash ${text} NOT NULL,
    is_whole ${integer} NOT NULL
  ) ${keyed};

  -- Each item as the removed events leave it.
  CREATE TABLE history_items (
    org ${text} NOT NULL REFERENCES organizations (name),
    item ${text} NOT NULL,
    recorded ${text} NOT NULL,
    PRIMARY KEY (org, item)
  ) ${keyed};
  `
}

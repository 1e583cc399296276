import type { Dialect, Migration } from '../../../store/sql/dialect.ts'

/**
 * The schema of the evidence, as steps that only go forward; see `MIGRATIONS` of the policy store.
 *
 * - `organizations`: the number by which other tables name it, and the last `id` of its records.
 * - `chains`: one row for each device.
 * - `sources`: user, device and session of records. `first_day` and `last_day` enclose the days of
 *   the records, here and in `tuples`, so a search and the removal of old days need not look for
 *   them.
 * - `tuples`, `tuple_rules`: the members that equal records share, and their rules. `hash` is that
 *   of all members. `target` is `host:port` or a path, `folded` the same in lower case.
 * - `records`: the rows. Every index begins with the day, so the pages that a day's batches change
 *   are few and in memory, and a removed day is one range of each.
 * - `exporters`, `unexported`: who exports, and the parts of batches that are still to be exported.
 * - `days`: how many records an organization has by day.
 * - `stored_bytes`: the bytes of records by user, device and day of arrival. `bytes` of
 *   `organizations` is their sum.
 */
export const EVIDENCE_MIGRATIONS: readonly Migration[] = [
  initial,
  boundIndexedTexts,
  shadowOutcomes,
  exports,
  accounts,
  lossesByReason,
]

/**
 * The beginning of a text, as an index has it: PostgreSQL refuses a row with more than 2,704 bytes
 * in one of its indexes, and 512 characters have 2,048 at most.
 */
export function indexedPart(text: string): string {
  return `substr(${text}, 1, 512)`
}

/**
 * `shadow` is the JSON of the outcome with the shadow policies, and null where it is the same;
 * `shadow_rules` has its rules, as `tuple_rules` those of the decision.
 */
function shadowOutcomes({ text, integer, keyed }: Dialect): string {
  return `
    ALTER TABLE tuples ADD COLUMN shadow_decision ${text};
    ALTER TABLE tuples ADD COLUMN shadow ${text};
    CREATE TABLE shadow_rules (
      org ${integer} NOT NULL,
      rule_id ${text} NOT NULL,
      tuple ${integer} NOT NULL,
      PRIMARY KEY (org, rule_id, tuple)
    ) ${keyed};
    CREATE INDEX shadow_rules_tuple ON shadow_rules (tuple);
  `
}

function initial(dialect: Dialect): string {
  return `${sharedTables(dialect)} ${recordTables(dialect)}`
}

function exports({ text, integer, serial, keyed, numbered }: Dialect): string {
  return `
    CREATE TABLE exporters (
      name ${text} PRIMARY KEY,
      holder ${text},
      until_ms ${integer} NOT NULL
    ) ${keyed};
    CREATE TABLE unexported (
      id ${serial},
      exporter ${text} NOT NULL,
      org ${integer} NOT NULL,
      day ${integer} NOT NULL,
      source ${integer} NOT NULL,
      first_id ${integer} NOT NULL,
      last_id ${integer} NOT NULL,
      from_ms ${integer} NOT NULL,
      to_ms ${integer} NOT NULL,
      records ${integer} NOT NULL,
      received_ms ${integer} NOT NULL
    ) ${numbered};
    CREATE INDEX unexported_exporter ON unexported (exporter, id);
    CREATE INDEX unexported_day ON unexported (day);
  `
}

function lossesByReason(): string {
  return 'CREATE INDEX losses_reason ON losses (org, reason, at_ms)'
}

/** Records of before are booked by their days, with about the bytes that they take. */
function accounts({ text, integer, keyed }: Dialect): string {
  return `
    CREATE TABLE stored_bytes (
      org ${integer} NOT NULL,
      holder ${text} NOT NULL,
      day ${integer} NOT NULL,
      device_id ${text} NOT NULL,
      bytes ${integer} NOT NULL,
      PRIMARY KEY (org, holder, day, device_id)
    ) ${keyed};
    CREATE INDEX stored_bytes_day ON stored_bytes (day);
    INSERT INTO stored_bytes SELECT org, '', day, '', records * 500 FROM days;
    ALTER TABLE organizations ADD COLUMN bytes ${integer} NOT NULL DEFAULT 0;
    UPDATE organizations SET bytes = COALESCE(
      (SELECT SUM(b.bytes) FROM stored_bytes b WHERE b.org = organizations.id), 0);
  `
}

function sharedTables({ text, integer, serial, keyed, numbered }: Dialect): string {
  return `
    CREATE TABLE organizations (
      id ${serial},
      name ${text} NOT NULL UNIQUE,
      last_record ${integer} NOT NULL
    ) ${numbered};
    CREATE TABLE chains (
      device_id ${text} PRIMARY KEY,
      org ${integer} NOT NULL,
      boot ${text} NOT NULL,
      seq ${integer} NOT NULL,
      hash ${text} NOT NULL,
      earlier ${text} NOT NULL,
      gaps ${integer} NOT NULL,
      forks ${integer} NOT NULL,
      rewinds ${integer} NOT NULL,
      marked_ms ${integer},
      lost ${integer} NOT NULL,
      left_out ${integer} NOT NULL,
      received_ms ${integer} NOT NULL
    ) ${keyed};
    CREATE TABLE sources (
      id ${serial},
      org ${integer} NOT NULL,
      device_id ${text} NOT NULL,
      session ${text} NOT NULL,
      username ${text},
      first_day ${integer} NOT NULL,
      last_day ${integer} NOT NULL
    ) ${numbered};
    CREATE INDEX sources_device ON sources (org, device_id, session);
    CREATE INDEX sources_session ON sources (org, session);
    CREATE INDEX sources_user ON sources (org, username);
    CREATE TABLE tuples (
      id ${serial},
      org ${integer} NOT NULL,
      hash ${text} NOT NULL,
      point ${text} NOT NULL,
      protocol ${text} NOT NULL,
      action ${text},
      host ${text},
      port ${integer},
      address ${text},
      path ${text},
      path_cut ${integer} NOT NULL,
      decision ${text} NOT NULL,
      reason ${text} NOT NULL,
      rules ${text} NOT NULL,
      revision ${integer},
      stale ${integer} NOT NULL,
      break_glass ${integer} NOT NULL,
      program ${text},
      os_user ${text},
      target ${text},
      folded ${text},
      first_day ${integer} NOT NULL,
      last_day ${integer} NOT NULL,
      UNIQUE (org, hash)
    ) ${numbered};
    CREATE INDEX tuples_org ON tuples (org, id);
    CREATE INDEX tuples_target ON tuples (org, target);
    CREATE INDEX tuples_program ON tuples (org, program);
    CREATE TABLE tuple_rules (
      org ${integer} NOT NULL,
      rule_id ${text} NOT NULL,
      tuple ${integer} NOT NULL,
      PRIMARY KEY (org, rule_id, tuple)
    ) ${keyed};
    CREATE INDEX tuple_rules_tuple ON tuple_rules (tuple);
  `
}

function recordTables({ text, integer, serial, keyed, numbered, byDay }: Dialect): string {
  return `
    CREATE TABLE records (
      day ${integer} NOT NULL,
      org ${integer} NOT NULL,
      last_ms ${integer} NOT NULL,
      id ${integer} NOT NULL,
      source ${integer} NOT NULL,
      tuple ${integer} NOT NULL,
      first_ms ${integer} NOT NULL,
      decisions ${integer} NOT NULL,
      flows ${integer} NOT NULL,
      bytes_sent ${integer} NOT NULL,
      bytes_received ${integer} NOT NULL,
      received_ms ${integer} NOT NULL,
      PRIMARY KEY (day, org, last_ms, id)
    ) ${byDay('records')};
    CREATE INDEX records_source ON records (day, org, source, last_ms, id);
    CREATE INDEX records_tuple ON records (day, org, tuple, last_ms, id);
    CREATE TABLE days (
      org ${integer} NOT NULL,
      day ${integer} NOT NULL,
      records ${integer} NOT NULL,
      PRIMARY KEY (org, day)
    ) ${keyed};
    CREATE INDEX days_day ON days (day);
    CREATE TABLE losses (
      id ${serial},
      org ${integer} NOT NULL,
      day ${integer} NOT NULL,
      at_ms ${integer} NOT NULL,
      device_id ${text} NOT NULL,
      reason ${text} NOT NULL,
      lost ${integer} NOT NULL
    ) ${numbered};
    CREATE INDEX losses_device ON losses (org, device_id, at_ms);
    CREATE INDEX losses_day ON losses (day);
  `
}

/** Machines choose targets and programs, so a long one must not keep a batch out. */
function boundIndexedTexts(): string {
  return `
    DROP INDEX tuples_target;
    CREATE INDEX tuples_target ON tuples (org, ${indexedPart('target')});
    DROP INDEX tuples_program;
    CREATE INDEX tuples_program ON tuples (org, ${indexedPart('program')});
  `
}

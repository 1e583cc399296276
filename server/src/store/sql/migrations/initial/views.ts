import type { Dialect } from '../../dialect.ts'

/** Keys and roots that machines trust, and the files that are signed for each set of teams. */
export function views(dialect: Dialect): string {
  return [trustTables(dialect), viewTables(dialect)].join('\n')
}

function trustTables({ text, integer, bytes, keyed, numbered }: Dialect): string {
  return `
  CREATE TABLE distribution_keys (
    kid ${text} PRIMARY KEY,
    org ${text} NOT NULL REFERENCES organizations (name),
    role ${text} NOT NULL CHECK (role IN ('root', 'targets', 'online')),
    private_jwk ${text} NOT NULL,
    created_at ${text} NOT NULL
  ) ${keyed};
  CREATE INDEX distribution_keys_by_org ON distribution_keys (org);

  -- Kept for ever: a machine that was away walks through all of them.
  CREATE TABLE distribution_roots (
    org ${text} NOT NULL REFERENCES organizations (name),
    version ${integer} NOT NULL,
    body ${bytes} NOT NULL,
    expires_at ${text} NOT NULL,
    PRIMARY KEY (org, version)
  ) ${numbered};
  `
}

function viewTables({ text, integer, bytes, serial, numbered }: Dialect): string {
  return `
  -- The versions in force for one set of teams.
  CREATE TABLE views (
    org ${text} NOT NULL REFERENCES organizations (name),
    id ${text} NOT NULL,
    revision ${integer} NOT NULL,
    content_hash ${text} NOT NULL,
    root_version ${integer} NOT NULL,
    targets_version ${integer} NOT NULL,
    targets_signed_at ${text} NOT NULL,
    snapshot_version ${integer} NOT NULL,
    snapshot_signed_at ${text} NOT NULL,
    timestamp_version ${integer} NOT NULL,
    timestamp_signed_at ${text} NOT NULL,
    timestamp_body ${bytes} NOT NULL,
    PRIMARY KEY (org, id)
  ) ${numbered};

  -- Files that were signed together. A targets file is kept without the entries of its documents,
  -- which views share: a change would otherwise write the whole listing anew for each view.
  CREATE TABLE publications (
    org ${text} NOT NULL,
    view_id ${text} NOT NULL,
    version ${integer} NOT NULL,
    snapshot ${text} NOT NULL,
    -- Before and after the listing; all three are null where no targets file was signed.
    targets_head ${text},
    targets_tail ${text},
    -- Places of listed_documents in their order, with a comma before and after each.
    listing ${text},
    PRIMARY KEY (org, view_id, version),
    FOREIGN KEY (org, view_id) REFERENCES views (org, id) ON DELETE CASCADE
  ) ${numbered};

  -- Bodies of policies; one row for all views that show the same document.
  CREATE TABLE policy_documents (
    org ${text} NOT NULL REFERENCES organizations (name),
    sha256 ${text} NOT NULL,
    body ${bytes} NOT NULL,
    PRIMARY KEY (org, sha256)
  ) ${numbered};

  -- A document as targets files list it; its place is never given to another.
  CREATE TABLE listed_documents (
    place ${serial},
    org ${text} NOT NULL,
    path ${text} NOT NULL,
    entry ${text} NOT NULL,
    sha256 ${text} NOT NULL,
    -- The number of views that list it in their newest targets file.
    shown_by ${integer} NOT NULL CHECK (shown_by >= 0),
    -- The highest version of a targets file from which it was dropped; 0 before the first.
    dropped_in ${integer} NOT NULL,
    UNIQUE (org, path, entry),
    FOREIGN KEY (org, sha256) REFERENCES policy_documents (org, sha256)
  ) ${numbered};
  CREATE INDEX listed_documents_by_body ON listed_documents (org, sha256);
  CREATE INDEX listed_documents_by_end ON listed_documents (org, shown_by, dropped_in);
  `
}

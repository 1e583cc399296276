import type { Dialect } from '../dialect.ts'

/** What machines trust of each organization, and what is signed for each set of teams. */
export function views({ text, integer, bytes, keyed, placed }: Dialect): string {
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
  ) ${placed};

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
  ) ${placed};

  CREATE TABLE view_files (
    org ${text} NOT NULL,
    view_id ${text} NOT NULL,
    name ${text} NOT NULL,
    body ${bytes} NOT NULL,
    -- Null for what is current.
    superseded_at ${text},
    PRIMARY KEY (org, view_id, name),
    FOREIGN KEY (org, view_id) REFERENCES views (org, id) ON DELETE CASCADE
  ) ${placed};
  -- What was superseded stays for a day: of a view that changes often, thousands.
  CREATE INDEX view_files_by_end ON view_files (org, view_id, superseded_at);

  -- One row for all views that show the same document.
  CREATE TABLE policy_documents (
    org ${text} NOT NULL REFERENCES organizations (name),
    sha256 ${text} NOT NULL,
    body ${bytes} NOT NULL,
    PRIMARY KEY (org, sha256)
  ) ${placed};

  CREATE TABLE view_documents (
    org ${text} NOT NULL,
    view_id ${text} NOT NULL,
    path ${text} NOT NULL,
    sha256 ${text} NOT NULL,
    superseded_at ${text},
    PRIMARY KEY (org, view_id, path),
    FOREIGN KEY (org, view_id) REFERENCES views (org, id) ON DELETE CASCADE,
    FOREIGN KEY (org, sha256) REFERENCES policy_documents (org, sha256)
  ) ${placed};
  CREATE INDEX view_documents_by_end ON view_documents (org, view_id, superseded_at);
  CREATE INDEX view_documents_by_document ON view_documents (org, sha256);
  `
}

import type { Dialect } from '../dialect.ts'

/**
 * Targets files are kept as what they do not share with others: a change wrote the whole listing
 * anew for each view. What was signed before is not carried over: views keep their versions and are
 * signed anew, above these, when somebody asks.
 */
export function publications({ text, integer, place, placed }: Dialect): string {
  return `
  DROP TABLE view_documents;
  DROP TABLE view_files;
  DELETE FROM policy_documents;
  UPDATE views SET content_hash = '';

  CREATE TABLE publications (
    org ${text} NOT NULL,
    view_id ${text} NOT NULL,
    version ${integer} NOT NULL,
    snapshot ${text} NOT NULL,
    -- Before and after the listing; all three are null where no targets file was signed.
    targets_head ${text},
    targets_tail ${text},
    -- Places of documents in their order, with a comma before and after each.
    listing ${text},
    PRIMARY KEY (org, view_id, version),
    FOREIGN KEY (org, view_id) REFERENCES views (org, id) ON DELETE CASCADE
  ) ${placed};

  -- A document as targets files list it; its place is never given to another.
  CREATE TABLE listed_documents (
    place ${place},
    org ${text} NOT NULL,
    path ${text} NOT NULL,
    entry ${text} NOT NULL,
    sha256 ${text} NOT NULL,
    -- How many views list it in their newest targets file.
    shown_by ${integer} NOT NULL CHECK (shown_by >= 0),
    -- The highest version of a targets file that lists it no more; 0 while there is none.
    dropped_in ${integer} NOT NULL,
    UNIQUE (org, path, entry),
    FOREIGN KEY (org, sha256) REFERENCES policy_documents (org, sha256)
  ) ${placed};
  CREATE INDEX listed_documents_by_body ON listed_documents (org, sha256);
  CREATE INDEX listed_documents_by_end ON listed_documents (org, shown_by, dropped_in);
  `
}

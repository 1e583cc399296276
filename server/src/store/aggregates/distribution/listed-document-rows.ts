import type { DocumentRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'
import { createSelectIn } from '../../sql/select-in.ts'

/** A document that targets files list, by the number under which they are kept. */
interface ListedRow {
  readonly place: number
  readonly entry: string
}

/** In how many views' newest targets files a document appears, and from how many it goes. */
export interface Relisted {
  readonly rowId: number
  readonly added: number
  readonly dropped: number
}

/** Finds the entries of rows, in their order; null when one of them is missing. */
export function createFindEntries(
  connection: Connection,
): (org: string, rowIds: readonly number[]) => Promise<readonly string[] | null> {
  const select = createSelectIn<ListedRow>(
    connection,
    (list) => `SELECT place, entry FROM listed_documents WHERE org = ? AND place IN (${list})`,
  )
  return async (org, rowIds) => {
    const found = new Map(
      (await select([org], rowIds)).map(({ place, entry }) => [place, entry] as const),
    )
    const entries = rowIds.flatMap((rowId) => found.get(rowId) ?? [])
    return entries.length === rowIds.length ? entries : null
  }
}

/** Finds the documents that have no row yet. */
export function createFindMissing(
  connection: Connection,
): (org: string, documents: readonly DocumentRecord[]) => Promise<DocumentRecord[]> {
  const select = createSelectRows(connection)
  return async (org, documents) => {
    const paths = documents.map(({ path }) => path)
    const known = new Set((await select([org], paths)).map(({ entry }) => entry))
    return documents.filter(({ entry }) => !known.has(entry))
  }
}

function createSelectRows(connection: Connection) {
  return createSelectIn<ListedRow>(
    connection,
    (list) => `SELECT place, entry FROM listed_documents WHERE org = ? AND path IN (${list})`,
  )
}

export interface ListedDocumentWriter {
  /** Returns the rows of the documents. Missing ones are made as if dropped in `version`. */
  insertMissing(
    org: string,
    documents: readonly DocumentRecord[],
    version: number,
  ): Promise<ReadonlyMap<DocumentRecord, number>>
  /** `version` is no less than that of any targets file by which a document was dropped. */
  relist(documents: Iterable<Relisted>, version: number): Promise<void>
  deleteUnlisted(org: string, since: number): Promise<void>
}

export function createListedDocumentWriter(connection: Connection): ListedDocumentWriter {
  const selectRows = createSelectRows(connection)
  // No reader sees a document before a publication lists it.
  const insertBody = connection.prepare(
    `INSERT INTO policy_documents (org, sha256, body) VALUES (?, ?, ?)
     ON CONFLICT (org, sha256) DO NOTHING`,
    'progress',
  )
  const insert = connection.prepare<Pick<ListedRow, 'place'>>(
    `INSERT INTO listed_documents (org, path, entry, sha256, shown_by, dropped_in)
     VALUES (?, ?, ?, ?, 0, ?) RETURNING place`,
    'progress',
  )
  const add = connection.prepare(
    'UPDATE listed_documents SET shown_by = shown_by + ? WHERE place = ?',
    'governance',
  )
  const drop = connection.prepare(
    `UPDATE listed_documents SET shown_by = shown_by + ?,
       dropped_in = CASE WHEN dropped_in < ? THEN ? ELSE dropped_in END
     WHERE place = ?`,
    'governance',
  )
  // The last one stays: databases may give the highest number again when its row is gone.
  const deleteRows = connection.prepare(
    `DELETE FROM listed_documents WHERE org = ? AND shown_by = 0 AND dropped_in < ?
       AND place < (SELECT MAX(place) FROM listed_documents)`,
    'governance',
  )
  const deleteBodies = connection.prepare(
    `DELETE FROM policy_documents WHERE org = ? AND NOT EXISTS (
       SELECT 1 FROM listed_documents l
       WHERE l.org = policy_documents.org AND l.sha256 = policy_documents.sha256)`,
    'governance',
  )

  async function create(
    org: string,
    { path, entry, sha256, body }: DocumentRecord,
    version: number,
  ): Promise<number> {
    await insertBody.run(org, sha256, body)
    const row = await insert.get(org, path, entry, sha256, version)
    if (row === undefined) throw new RangeError(`document \`${path}\` was not inserted`)
    return row.place
  }

  return {
    async insertMissing(org, documents, version) {
      const paths = documents.map(({ path }) => path)
      const known = new Map(
        (await selectRows([org], paths)).map(({ place, entry }) => [entry, place] as const),
      )
      const rowIds = new Map<DocumentRecord, number>()
      for (const document of documents) {
        // An entry names its path, so that one of another path is another entry.
        const rowId = known.get(document.entry) ?? (await create(org, document, version))
        known.set(document.entry, rowId)
        rowIds.set(document, rowId)
      }
      return rowIds
    },
    async relist(documents, version) {
      for (const { rowId, added, dropped } of documents)
        if (dropped === 0) await add.run(added, rowId)
        else await drop.run(added - dropped, version, version, rowId)
    },
    async deleteUnlisted(org, since) {
      if ((await deleteRows.run(org, since)) > 0) await deleteBodies.run(org)
    },
  }
}

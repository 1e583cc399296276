import type { DocumentRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'
import { createSelectIn } from '../../sql/select-in.ts'

/** A document that targets files list, by the number under which they are kept. */
interface PlaceRow {
  readonly place: number
  readonly entry: string
}

/** In how many views' newest targets files a document appears, and from how many it goes. */
export interface Relisted {
  readonly place: number
  readonly added: number
  readonly dropped: number
}

/** Finds the entries of places, in their order; null when one of them is not there. */
export function createFindEntries(
  connection: Connection,
): (org: string, places: readonly number[]) => Promise<readonly string[] | null> {
  const select = createSelectIn<PlaceRow>(
    connection,
    (list) => `SELECT place, entry FROM listed_documents WHERE org = ? AND place IN (${list})`,
  )
  return async (org, places) => {
    const found = new Map(
      (await select([org], places)).map(({ place, entry }) => [place, entry] as const),
    )
    const entries = places.flatMap((place) => found.get(place) ?? [])
    return entries.length === places.length ? entries : null
  }
}

/** Finds the documents that have no place yet. */
export function createFindUnplaced(
  connection: Connection,
): (org: string, documents: readonly DocumentRecord[]) => Promise<DocumentRecord[]> {
  const select = createSelectPlaces(connection)
  return async (org, documents) => {
    const paths = documents.map(({ path }) => path)
    const known = new Set((await select([org], paths)).map(({ entry }) => entry))
    return documents.filter(({ entry }) => !known.has(entry))
  }
}

function createSelectPlaces(connection: Connection) {
  return createSelectIn<PlaceRow>(
    connection,
    (list) => `SELECT place, entry FROM listed_documents WHERE org = ? AND path IN (${list})`,
  )
}

export interface ListedDocumentWriter {
  /** The places of the documents. Missing ones are made as if dropped in `version`. */
  place(
    org: string,
    documents: readonly DocumentRecord[],
    version: number,
  ): Promise<ReadonlyMap<DocumentRecord, number>>
  /** `version` is no less than that of any targets file by which a document was dropped. */
  relist(documents: Iterable<Relisted>, version: number): Promise<void>
  deleteUnlisted(org: string, since: number): Promise<void>
}

export function createListedDocumentWriter(connection: Connection): ListedDocumentWriter {
  const selectPlaces = createSelectPlaces(connection)
  // No reader sees a document before a publication lists it.
  const insertBody = connection.prepare(
    `INSERT INTO policy_documents (org, sha256, body) VALUES (?, ?, ?)
     ON CONFLICT (org, sha256) DO NOTHING`,
    'progress',
  )
  const insert = connection.prepare<Pick<PlaceRow, 'place'>>(
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
  const deletePlaces = connection.prepare(
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
    async place(org, documents, version) {
      const paths = documents.map(({ path }) => path)
      const known = new Map(
        (await selectPlaces([org], paths)).map(({ place, entry }) => [entry, place] as const),
      )
      const places = new Map<DocumentRecord, number>()
      for (const document of documents) {
        // An entry names its path, so that one of another path is another entry.
        const place = known.get(document.entry) ?? (await create(org, document, version))
        known.set(document.entry, place)
        places.set(document, place)
      }
      return places
    },
    async relist(documents, version) {
      for (const { place, added, dropped } of documents)
        if (dropped === 0) await add.run(added, place)
        else await drop.run(added - dropped, version, version, place)
    },
    async deleteUnlisted(org, since) {
      if ((await deletePlaces.run(org, since)) > 0) await deleteBodies.run(org)
    },
  }
}

import { defineAggregate, type WriterContext } from '../aggregate.ts'
import {
  createFindEntries,
  createFindMissing,
  createListedDocumentWriter,
  type Relisted,
} from './listed-document-rows.ts'
import type { Publication, ViewReader, ViewWriter } from './view-contract.ts'
import type { DocumentRecord, ViewRecord } from '../../distribution-records.ts'
import type { Connection, Value } from '../../sql/connection.ts'
import { createInsertRows, type InsertedColumn } from '../../sql/insert-rows.ts'
import { keyOf } from '../../sql/write-cache.ts'

export const VIEWS = defineAggregate({
  tables: [
    { name: 'views', key: ['org', 'id'] },
    { name: 'publications', key: ['org', 'view_id', 'version'] },
    { name: 'policy_documents', key: ['org', 'sha256'] },
    { name: 'listed_documents', key: ['place'] },
  ],
  reader: createViewReader,
  writer: createViewWriter,
  // Signed files follow from changes that are in the history.
  events: null,
})

const COLUMNS = [
  'org',
  'id',
  'revision',
  'content_hash',
  'root_version',
  'targets_version',
  'targets_signed_at',
  'snapshot_version',
  'snapshot_signed_at',
  'timestamp_version',
  'timestamp_signed_at',
  'timestamp_body',
] as const satisfies readonly (keyof ViewRecord)[]

const PUBLICATION_COLUMNS: readonly InsertedColumn[] = [
  { name: 'org', type: 'TEXT' },
  { name: 'view_id', type: 'TEXT' },
  { name: 'version', type: 'BIGINT' },
  { name: 'snapshot', type: 'TEXT' },
  { name: 'targets_head', type: 'TEXT' },
  { name: 'targets_tail', type: 'TEXT' },
  { name: 'listing', type: 'TEXT' },
]

/** `dropped_in` of a document that every view that listed it still lists. */
const NEVER = 0

/**
 * The first version that had not been replaced by `since`: the last of before, whose successor is
 * younger. Its parameters are org, view and `since`.
 */
const OLDEST_KEPT = `COALESCE((
  SELECT o.version FROM publications o
  WHERE o.org = ? AND o.view_id = ? AND o.version < ? AND o.listing IS NOT NULL
  ORDER BY o.version DESC LIMIT 1), 0)`

interface TargetsRow {
  readonly targets_head: string | null
  readonly targets_tail: string | null
  readonly listing: string | null
}

function createViewReader(connection: Connection): ViewReader {
  const find = connection.prepare<ViewRecord>('SELECT * FROM views WHERE org = ? AND id = ?')
  const snapshot = connection.prepare<{ snapshot: string }>(
    `SELECT snapshot FROM publications
     WHERE org = ? AND view_id = ? AND version = ? AND version >= ${OLDEST_KEPT}`,
  )
  const targets = connection.prepare<TargetsRow>(
    `SELECT targets_head, targets_tail, listing FROM publications
     WHERE org = ? AND view_id = ? AND version = ? AND version >= ${OLDEST_KEPT}`,
  )
  const document = connection.prepare<{ body: Uint8Array }>(
    `SELECT d.body FROM listed_documents l
     JOIN policy_documents d ON d.org = l.org AND d.sha256 = l.sha256
     WHERE l.org = ? AND l.path = ? AND EXISTS (
       SELECT 1 FROM publications p
       WHERE p.org = l.org AND p.view_id = ? AND p.version >= ${OLDEST_KEPT}
         AND p.listing LIKE '%,' || l.place || ',%')`,
  )
  const findEntries = createFindEntries(connection)

  async function composeTargets(org: string, row: TargetsRow): Promise<Uint8Array | null> {
    const { targets_head: head, targets_tail: tail, listing } = row
    if (head === null || tail === null || listing === null) return null
    const entries = await findEntries(org, parseListing(listing))
    return entries && Buffer.from(`${head}${entries.join(',')}${tail}`)
  }

  return {
    async find(org, id) {
      return (await find.get(org, id)) ?? null
    },
    async file(org, id, name, since) {
      const [, digits = '', kind] = /^([1-9]\d{0,14})\.(snapshot|targets)\.json$/.exec(name) ?? []
      const key = [org, id, Number(digits), org, id, since]
      if (kind === 'targets') {
        const row = await targets.get(...key)
        return row === undefined ? null : composeTargets(org, row)
      }
      const row = kind === 'snapshot' ? await snapshot.get(...key) : undefined
      return row === undefined ? null : Buffer.from(row.snapshot)
    },
    async document(org, id, path, since) {
      return (await document.get(org, path, id, org, id, since))?.body ?? null
    },
    missing: createFindMissing(connection),
  }
}

function createViewWriter(
  connection: Connection,
  { cache: { listings } }: Pick<WriterContext, 'cache'>,
): ViewWriter {
  const put = connection.prepare(
    `INSERT INTO views (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (org, id) DO UPDATE SET
       ${COLUMNS.slice(2)
         .map((column) => `${column} = excluded.${column}`)
         .join(', ')}`,
    'governance',
  )
  const insert = createInsertRows(
    connection,
    { name: 'publications', effect: 'governance' },
    PUBLICATION_COLUMNS,
  )
  const newest = connection.prepare<{ listing: string }>(
    `SELECT p.listing FROM views v
     JOIN publications p ON p.org = v.org AND p.view_id = v.id AND p.version = v.targets_version
     WHERE v.org = ? AND v.id = ?`,
  )
  // No content has this hash.
  const outdateAll = connection.prepare(
    `UPDATE views SET content_hash = '' WHERE org = ?`,
    'governance',
  )
  const deleteReplaced = connection.prepare(
    `DELETE FROM publications WHERE org = ? AND view_id = ? AND version < ${OLDEST_KEPT}`,
    'governance',
  )
  const abandoned = connection.prepare<Pick<ViewRecord, 'id' | 'targets_version'>>(
    'SELECT id, targets_version FROM views WHERE org = ? AND timestamp_signed_at < ?',
  )
  const deleteView = connection.prepare('DELETE FROM views WHERE org = ? AND id = ?', 'governance')
  const documents = createListedDocumentWriter(connection)

  async function rowIdsOf(org: string, id: string): Promise<readonly number[]> {
    const rowIds = await listings.read(keyOf(org, id), async () => {
      const row = await newest.get(org, id)
      return row === undefined ? [] : parseListing(row.listing)
    })
    return rowIds ?? []
  }

  async function putView(view: ViewRecord): Promise<void> {
    await put.run(...COLUMNS.map((column) => view[column]))
  }

  return {
    ...createViewReader(connection),
    async insertAhead(org, listed, version) {
      await documents.insertMissing(org, listed, version)
    },
    async publish(org, publications) {
      const listed = new Set<DocumentRecord>()
      for (const { files } of publications)
        for (const document of files?.targets?.documents ?? []) listed.add(document)
      const rowIds = await documents.insertMissing(org, [...listed], NEVER)
      const relisted = createRelisting()
      const rows: Value[][] = []
      for (const { view, files } of publications) {
        const now = files?.targets?.documents.flatMap((each) => rowIds.get(each) ?? [])
        if (files !== null) rows.push(toRow({ view, files }, now))
        if (now === undefined) await putView(view)
        else {
          relisted.replace(await rowIdsOf(org, view.id), now)
          await listings.write(
            keyOf(org, view.id),
            () => putView(view),
            () => now,
          )
        }
      }
      await insert.run(rows)
      const version = Math.max(...publications.map(({ view }) => view.targets_version))
      await documents.relist(relisted.changes(), version)
    },
    async outdateAll(org) {
      await outdateAll.run(org)
    },
    async deleteReplaced(org, id, since) {
      await deleteReplaced.run(org, id, org, id, since)
    },
    deleteUnlisted: (org, since) => documents.deleteUnlisted(org, since),
    async deleteAbandoned(org, before) {
      for (const { id, targets_version } of await abandoned.all(org, before)) {
        const relisted = createRelisting()
        relisted.replace(await rowIdsOf(org, id), [])
        await documents.relist(relisted.changes(), targets_version)
        await listings.write(keyOf(org, id), () => deleteView.run(org, id))
      }
    },
  }
}

function toRow(
  { view, files }: { view: ViewRecord; files: NonNullable<Publication['files']> },
  rowIds: readonly number[] | undefined,
): Value[] {
  const { snapshot, targets } = files
  const key = [view.org, view.id, view.snapshot_version, snapshot]
  if (targets === null || rowIds === undefined) return [...key, null, null, null]
  return [...key, targets.head, targets.tail, formatListing(rowIds)]
}

/** The sum of changes to listings, for all views together: most change the same few documents. */
function createRelisting() {
  const changed = new Map<number, Relisted>()

  function count(rowId: number, kind: 'added' | 'dropped'): void {
    const known = changed.get(rowId) ?? { rowId, added: 0, dropped: 0 }
    changed.set(rowId, { ...known, [kind]: known[kind] + 1 })
  }

  return {
    replace(before: readonly number[], after: readonly number[]): void {
      // A change is of few documents in the middle of many.
      let start = 0
      while (start < before.length && before[start] === after[start]) start += 1
      let end = 0
      const most = Math.min(before.length, after.length) - start
      while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1
      const old = new Set(before.slice(start, before.length - end))
      const young = new Set(after.slice(start, after.length - end))
      for (const rowId of young) if (!old.has(rowId)) count(rowId, 'added')
      for (const rowId of old) if (!young.has(rowId)) count(rowId, 'dropped')
    },
    changes: () => changed.values(),
  }
}

/**
 * Formats row ids in their order as `,3,17,4,`, so that `LIKE '%,17,%'` finds one of them in the
 * database itself; an empty list gives an empty text.
 */
function formatListing(rowIds: readonly number[]): string {
  return rowIds.length === 0 ? '' : `,${rowIds.join()},`
}

function parseListing(text: string): number[] {
  return text === '' ? [] : text.slice(1, -1).split(',').map(Number)
}

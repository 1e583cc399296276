import type { ViewReader, ViewWriter } from '../contract/distribution.ts'
import type { ViewRecord } from '../records.ts'
import type { Connection } from './connection.ts'

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

export function createViewReader(connection: Connection): ViewReader {
  const find = connection.prepare<ViewRecord>('SELECT * FROM views WHERE org = ? AND id = ?')
  const file = connection.prepare<{ body: Uint8Array }>(
    'SELECT body FROM view_files WHERE org = ? AND view_id = ? AND name = ?',
  )
  const document = connection.prepare<{ body: Uint8Array }>(
    `SELECT d.body FROM view_documents v
     JOIN policy_documents d ON d.org = v.org AND d.sha256 = v.sha256
     WHERE v.org = ? AND v.view_id = ? AND v.path = ?`,
  )
  return {
    async find(org, id) {
      return (await find.get(org, id)) ?? null
    },
    async file(org, id, name) {
      return (await file.get(org, id, name))?.body ?? null
    },
    async document(org, id, path) {
      return (await document.get(org, id, path))?.body ?? null
    },
  }
}

export function createViewWriter(connection: Connection): ViewWriter {
  const put = connection.prepare(
    `INSERT INTO views (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (org, id) DO UPDATE SET
       ${COLUMNS.slice(2)
         .map((column) => `${column} = excluded.${column}`)
         .join(', ')}`,
    'governance',
  )
  const supersedeFiles = connection.prepare(
    `UPDATE view_files SET superseded_at = ?
     WHERE org = ? AND view_id = ? AND name LIKE ? AND superseded_at IS NULL`,
    'governance',
  )
  const putFile = connection.prepare(
    'INSERT INTO view_files (org, view_id, name, body) VALUES (?, ?, ?, ?)',
    'governance',
  )
  const shown = connection.prepare<{ path: string }>(
    'SELECT path FROM view_documents WHERE org = ? AND view_id = ? AND superseded_at IS NULL',
  )
  const supersedeDocument = connection.prepare(
    'UPDATE view_documents SET superseded_at = ? WHERE org = ? AND view_id = ? AND path = ?',
    'governance',
  )
  const insertDocument = connection.prepare(
    `INSERT INTO policy_documents (org, sha256, body) VALUES (?, ?, ?)
     ON CONFLICT (org, sha256) DO NOTHING`,
    'governance',
  )
  const showDocument = connection.prepare(
    `INSERT INTO view_documents (org, view_id, path, sha256) VALUES (?, ?, ?, ?)
     ON CONFLICT (org, view_id, path) DO UPDATE SET superseded_at = NULL`,
    'governance',
  )
  const deleteFiles = connection.prepare(
    'DELETE FROM view_files WHERE org = ? AND view_id = ? AND superseded_at < ?',
    'governance',
  )
  const hideDocuments = connection.prepare(
    'DELETE FROM view_documents WHERE org = ? AND view_id = ? AND superseded_at < ?',
    'governance',
  )
  const deleteDocuments = connection.prepare(
    `DELETE FROM policy_documents WHERE org = ? AND NOT EXISTS (
       SELECT 1 FROM view_documents v
       WHERE v.org = policy_documents.org AND v.sha256 = policy_documents.sha256)`,
    'governance',
  )
  const deleteAbandoned = connection.prepare(
    'DELETE FROM views WHERE org = ? AND timestamp_signed_at < ?',
    'governance',
  )
  return {
    ...createViewReader(connection),
    async put(view) {
      await put.run(...COLUMNS.map((column) => view[column]))
    },
    async putFile({ org, view_id, name, body }, at) {
      const kind = name.slice(name.indexOf('.'))
      await supersedeFiles.run(at, org, view_id, `%${kind}`)
      await putFile.run(org, view_id, name, body)
    },
    async putDocuments({ org, id }, documents, at) {
      const before = new Set((await shown.all(org, id)).map(({ path }) => path))
      const after = new Set(documents.map(({ path }) => path))
      for (const path of before)
        if (!after.has(path)) await supersedeDocument.run(at, org, id, path)
      for (const { path, sha256, body } of documents) {
        if (before.has(path)) continue
        await insertDocument.run(org, sha256, body)
        await showDocument.run(org, id, path, sha256)
      }
    },
    async deleteSuperseded({ org, id }, before) {
      await deleteFiles.run(org, id, before)
      if ((await hideDocuments.run(org, id, before)) > 0) await deleteDocuments.run(org)
    },
    async deleteAbandoned(org, before) {
      if ((await deleteAbandoned.run(org, before)) > 0) await deleteDocuments.run(org)
    },
  }
}

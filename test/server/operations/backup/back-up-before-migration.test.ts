import { readConfig } from '@palisade/server'
import Sqlite from 'better-sqlite3'
import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { restore } from '../../../../server/src/operations/backup/restore.ts'
import { openStore } from '../../../../server/src/operations/storage/open-store.ts'
import { MIGRATIONS } from '../../../../server/src/store/sql/migrations/migrations.ts'
import { migrate } from '../../../../server/src/store/sqlite/migrate.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { alter, newPath, organizationsOf } from './databases.ts'

const OLD = MIGRATIONS.length
const NEWER = [...MIGRATIONS, () => 'CREATE TABLE more (id TEXT)']

function makeOldDatabase(dataDir: string): void {
  const database = new Sqlite(join(dataDir, 'server.db'))
  migrate(database, MIGRATIONS)
  database.exec(
    `INSERT INTO organizations (name, entitled, revision, resolve_unlisted_names, created_at)
     VALUES ('acme', 1, 7, 0, '2026-11-21T08:00:00Z');
     INSERT INTO event_heads (org, sequence, hash) VALUES ('acme', 0, '${'0'.repeat(64)}')`,
  )
  database.close()
}

/** The first start of a release with one more step; returns its output on stderr. */
async function startNewer(dataDir: string): Promise<string> {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => written.mockRestore())
  const store = await openStore(readConfig({ PALISADE_DATA_DIR: dataDir }, '/'), 'create', NEWER)
  await store.close()
  return written.mock.calls.map(([text]) => String(text)).join('')
}

describe('a start on a database of an older schema', () => {
  it('keeps a restorable backup and prints its path', async () => {
    const dataDir = temporaryDirectory()
    makeOldDatabase(dataDir)
    const file = join(dataDir, `server.db.schema-${OLD}`)

    expect(await startNewer(dataDir)).toBe(
      `palisade-server: the database of schema ${OLD} is kept as ${file}\n`,
    )
    const request = { file, replace: false, sha256: null, unverified: false, suffix: 'draft' }
    const database = newPath()
    const onProgress = () => undefined
    expect(await restore({ ...request, database, nowMs: 0, onProgress }, NEWER)).toMatchObject({
      schema: { from: OLD, to: NEWER.length },
      faults: [],
    })
    expect(organizationsOf(database)).toHaveLength(1)
  })

  it('keeps three backups, and deletes no file with another name', async () => {
    const dataDir = temporaryDirectory()
    makeOldDatabase(dataDir)
    for (const [age, name] of ['schema-97', 'schema-98', 'schema-99', 'schema-x'].entries()) {
      const path = join(dataDir, `server.db.${name}`)
      writeFileSync(path, '')
      utimesSync(path, age + 1, age + 1)
    }

    await startNewer(dataDir)

    expect(readdirSync(dataDir).toSorted()).toEqual(
      [
        'server.db',
        'server.db.schema-98',
        'server.db.schema-99',
        'server.db.schema-x',
        `server.db.schema-${OLD}`,
      ].toSorted(),
    )
  })

  it('migrates nothing when the backup fails', async () => {
    const dataDir = temporaryDirectory()
    makeOldDatabase(dataDir)
    const path = join(dataDir, 'server.db')
    alter(path, "INSERT INTO memberships (org, username, role) VALUES ('acme', 'gone', 'owner')")

    await expect(startNewer(dataDir)).rejects.toThrow('has a dangling reference')

    const database = new Sqlite(path, { readonly: true })
    expect(database.pragma('user_version', { simple: true })).toBe(OLD)
    database.close()
  })
})

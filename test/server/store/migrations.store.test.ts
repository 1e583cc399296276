import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { parseDatabaseUrl } from '../../../server/src/store/postgres/database-url.ts'
import { migrate as migratePostgres } from '../../../server/src/store/postgres/migrate.ts'
import {
  openPostgresStore,
  withConnection,
} from '../../../server/src/store/postgres/open-postgres-store.ts'
import type { Migration } from '../../../server/src/store/sql/dialect.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import { migrate as migrateSqlite } from '../../../server/src/store/sqlite/migrate.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { NEWER } from './newer-migrations.ts'

const AT = '2026-11-21T08:00:00.000Z'

interface OpenDatabase {
  (migrations: readonly Migration[]): Promise<Store>
  /** The work of an older release, whose schema this one cannot open. */
  runOlder(migrations: readonly Migration[], sql: string): Promise<void>
}

/** Opens one new database with the schema that the steps make. */
async function prepareSqlite(): Promise<OpenDatabase> {
  const path = join(temporaryDirectory(), 'server.db')
  const open = async (migrations: readonly Migration[]) =>
    openSqliteStore(path, 'create', migrations)
  return Object.assign(open, {
    async runOlder(migrations: readonly Migration[], sql: string) {
      const database = new Sqlite(path)
      migrateSqlite(database, migrations)
      database.exec(sql)
      database.close()
    },
  })
}

async function preparePostgres(): Promise<OpenDatabase> {
  // Loaded here alone, because it starts PostgreSQL.
  const { unusedDatabase } = await import('../postgres/test-postgres.ts')
  const url = await unusedDatabase()
  const open = (migrations: readonly Migration[]) => openPostgresStore(url, { migrations })
  return Object.assign(open, {
    async runOlder(migrations: readonly Migration[], sql: string) {
      await withConnection(parseDatabaseUrl(url), { mayTakeLong: false }, async (connection) => {
        await migratePostgres(connection, migrations)
        await connection.execute(sql)
      })
    },
  })
}

describe('the schema', () => {
  const prepare = inject('driver') === 'sqlite' ? prepareSqlite : preparePostgres

  it.each([...NEWER.keys()].slice(1))(
    'migrates from version %i to the newest with its data',
    async (version) => {
      const open = await prepare()
      await open.runOlder(
        NEWER.slice(0, version),
        `INSERT INTO organizations (name, entitled, revision, resolve_unlisted_names, created_at)
         VALUES ('acme', 1, 1, 0, '${AT}')`,
      )

      // The second one has nothing to do.
      for (let start = 0; start < 2; start += 1) {
        const store = await open(NEWER)
        const found = await store.read(({ organizations }) => organizations.find('acme'))
        expect(found).toMatchObject({ name: 'acme', entitled: true, created_at: AT })
        await store.close()
      }

      await expect(open(MIGRATIONS)).rejects.toMatchObject({ code: 'ERR_STORE_SCHEMA_TOO_NEW' })
    },
  )

  it('is created once when eight processes open an empty database', async () => {
    const open = await prepare()

    const stores = await Promise.all(Array.from({ length: 8 }, () => open(MIGRATIONS)))

    await Promise.all(
      stores.map((store, index) =>
        store.transaction((writer) =>
          writer.users.insert({
            username: `user${index}`,
            password_hash: null,
            created_at: AT,
          }),
        ),
      ),
    )
    for (const store of stores) {
      expect(await store.read((reader) => reader.users.find('user7'))).not.toBeNull()
      await store.close()
    }
  })
})

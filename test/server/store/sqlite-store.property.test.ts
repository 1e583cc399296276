import Sqlite from 'better-sqlite3'
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { migrate } from '../../../server/src/store/sqlite/migrate.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { describeSchemaGuard } from './schema-conformance.ts'
import { describeStore } from './store-conformance.ts'

describeStore('the SQLite store', () => {
  const path = join(temporaryDirectory(), 'server.db')
  return () => openSqliteStore(path)
})

describeSchemaGuard('the SQLite store', () => {
  const path = join(temporaryDirectory(), 'server.db')
  return {
    open: () => openSqliteStore(path),
    async migrate(migrations) {
      const database = new Sqlite(path)
      migrate(database, migrations)
      database.close()
    },
    async damage(sql) {
      const database = new Sqlite(path)
      // Indexes, views and references of other tables then keep the old name.
      database.pragma('legacy_alter_table = ON')
      database.exec(sql)
      database.close()
    },
  }
})

describe('a SQLite database', () => {
  it('keeps the generation of accounts for its own changes of policies and views', async () => {
    const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    const at = '2026-11-21T08:00:00Z'
    const settings = { entitled: true, resolve_unlisted_names: false, created_at: at }
    await store.transaction((writer) => writer.organizations.insert({ name: 'acme', ...settings }))
    const kept = { org: 'acme', id: 'f', revision: 0, content_hash: '', root_version: 1 }
    const versions = { targets_version: 1, snapshot_version: 1, timestamp_version: 1 }
    const signed = { targets_signed_at: at, snapshot_signed_at: at, timestamp_signed_at: at }
    const view = { ...kept, ...versions, ...signed, timestamp_body: Buffer.from('{}') }
    const [accounts, all] = [store.generation('accounts'), store.generation()]

    await store.transaction((writer) =>
      writer.policies.insert({
        id: 'pol_1',
        org: 'acme',
        name: 'p',
        teams: [],
        created_at: at,
        updated_at: at,
      }),
    )
    await store.transaction((writer) =>
      writer.views.publish('acme', [{ view, files: { snapshot: '{}', targets: null } }]),
    )

    expect(store.generation('accounts')).toBe(accounts)
    expect(store.generation()).not.toBe(all)
    await store.close()
  })

  it('is readable only by its owner, like the other files of SQLite', async () => {
    const path = join(temporaryDirectory(), 'server.db')

    const store = openSqliteStore(path)

    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600)
    await store.close()
  })

  it('of a newer release is refused and not changed', () => {
    const path = join(temporaryDirectory(), 'server.db')
    const newer = new Sqlite(path)
    newer.pragma('user_version = 999')
    newer.close()

    expect(() => openSqliteStore(path)).toThrow(
      expect.objectContaining({ code: 'ERR_STORE_SCHEMA_TOO_NEW' }),
    )

    const after = new Sqlite(path)
    expect(after.pragma('user_version', { simple: true })).toBe(999)
    expect(after.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 0 })
    after.close()
  })

  it.each([
    ['has its own tables', 'CREATE TABLE places (url TEXT); INSERT INTO places VALUES (1)'],
    ['has a table with a name of Palisade', 'CREATE TABLE organizations (id INTEGER)'],
    ['has its own schema version', 'CREATE TABLE places (url TEXT); PRAGMA user_version = 2'],
    ['has a higher schema version', 'CREATE TABLE places (url TEXT); PRAGMA user_version = 999'],
    ['is empty, but names its application', 'PRAGMA application_id = 252006675'],
  ])('of another application, which %s, is refused and not changed', (_title, sql) => {
    const path = join(temporaryDirectory(), 'server.db')
    const foreign = new Sqlite(path)
    foreign.exec(sql)
    foreign.close()
    const before = readFileSync(path)

    expect(() => openSqliteStore(path)).toThrow(
      expect.objectContaining({ code: 'ERR_STORE_FOREIGN' }),
    )

    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(dirname(path))).toEqual(['server.db'])
  })

  it('keeps its old schema when a step of a migration fails', () => {
    const database = new Sqlite(join(temporaryDirectory(), 'server.db'))
    migrate(database, MIGRATIONS)

    const steps = [
      ...MIGRATIONS,
      () => 'CREATE TABLE more (id TEXT) STRICT',
      () => 'CREATE TABLE oops (',
    ]

    expect(() => migrate(database, steps)).toThrow(/incomplete input/)
    expect(database.pragma('user_version', { simple: true })).toBe(MIGRATIONS.length)
    const more = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'more'").get()
    expect(more).toBeUndefined()
    database.close()
  })

  it('that is another file is reported as unavailable', () => {
    const path = join(temporaryDirectory(), 'server.db')
    writeFileSync(path, 'this is no database, and long enough to be looked at'.repeat(100))

    expect(() => openSqliteStore(path)).toThrow(
      expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }),
    )
  })

  it.each([
    ['deleted', (path: string) => rmSync(path)],
    ['moved away', (path: string) => renameSync(path, `${path}.old`)],
    ['without its log', (path: string) => rmSync(`${path}-wal`)],
  ])('that was %s refuses writes, which would be lost', async (_title, lose) => {
    const path = join(temporaryDirectory(), 'server.db')
    const store = openSqliteStore(path)
    const write = () => store.transaction((writer) => writer.secrets.insert('s', new Uint8Array(1)))

    lose(path)

    for (const attempt of [write, () => store.ping()])
      await expect(attempt()).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
    expect(await store.read((reader) => reader.secrets.find('s'))).toBeNull()
    await store.close()
  })

  it('that another process writes to delays only writers', async () => {
    const path = join(temporaryDirectory(), 'server.db')
    const store = openSqliteStore(path)
    const other = new Sqlite(path)
    other.exec('BEGIN IMMEDIATE')

    const writes = ['a', 'b'].map((name) =>
      store.transaction((writer) => writer.secrets.insert(name, new Uint8Array(1))),
    )

    expect(await store.read((reader) => reader.secrets.find('a'))).toBeNull()
    other.exec('ROLLBACK')
    await Promise.all(writes)
    expect(await store.read((reader) => reader.secrets.find('b'))).not.toBeNull()
    other.close()
    await store.close()
  })

  it('that another process keeps locked is unavailable to writers after five seconds', async () => {
    const path = join(temporaryDirectory(), 'server.db')
    const store = openSqliteStore(path)
    const other = new Sqlite(path)
    other.exec('BEGIN IMMEDIATE')
    const startedAt = performance.now()

    const writes = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) =>
        store.transaction((writer) => writer.secrets.insert(`${index}`, new Uint8Array(1))),
      ),
    )

    // One after the other they would take a minute.
    expect(performance.now() - startedAt).toBeLessThan(30_000)
    for (const write of writes)
      expect(write).toMatchObject({ reason: { code: 'ERR_STORE_UNAVAILABLE' } })
    other.close()
    await store.close()
  })

  it('is not created in a missing directory', () => {
    const path = join(temporaryDirectory(), 'absent', 'server.db')

    expect(() => openSqliteStore(path)).toThrow(
      expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }),
    )
    expect(existsSync(path)).toBe(false)
  })
})

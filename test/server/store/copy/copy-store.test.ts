import Sqlite from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { copyStore } from '../../../../server/src/store/copy/copy-store.ts'
import { createSqliteEndpoint } from '../../../../server/src/store/copy/sqlite-endpoint.ts'
import { TABLES } from '../../../../server/src/store/aggregates/aggregates.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { AT, silent, newPath } from './copy-scene.ts'

describe('a copy from SQLite to SQLite', () => {
  async function seeded(): Promise<string> {
    const path = newPath()
    const store = openSqliteStore(path)
    await store.transaction((writer) =>
      writer.users.insert({ username: 'ann', password_hash: null, created_at: AT }),
    )
    await store.close()
    return path
  }

  it('covers every table of the schema, by its primary key', async () => {
    const path = await seeded()
    const database = new Sqlite(path)
    const keys = database
      .prepare<[], { name: string; key: string }>(
        `SELECT s.name, (SELECT string_agg(c.name, ',' ORDER BY c.pk)
           FROM pragma_table_info(s.name) c WHERE c.pk > 0) AS key
         FROM sqlite_schema s WHERE s.type = 'table' ORDER BY s.name`,
      )
      .all()
    database.close()

    const known = TABLES.map(({ name, key }) => ({ name, key: key.join(',') }))
    expect(known.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual(keys)
  })

  it('copies each table after those that it refers to', async () => {
    const database = new Sqlite(await seeded())
    const references = database
      .prepare<[], { name: string; target: string }>(
        `SELECT s.name, f."table" AS target
         FROM sqlite_schema s, pragma_foreign_key_list(s.name) f WHERE s.type = 'table'`,
      )
      .all()
    database.close()

    const order = TABLES.map(({ name }) => name)
    expect(references).not.toEqual([])
    for (const { name, target } of references)
      expect(order.indexOf(target), `${name} refers to ${target}`).toBeLessThanOrEqual(
        order.indexOf(name),
      )
  })

  it('is undone when a row arrives changed', async () => {
    const [from, to] = [await seeded(), newPath()]
    await openSqliteStore(to).close()
    const target = new Sqlite(to)
    target.exec(`CREATE TRIGGER meddle AFTER INSERT ON users BEGIN
      UPDATE users SET created_at = 'never'; END`)

    const attempt = copyStore(createSqliteEndpoint(from), createSqliteEndpoint(to), silent)

    await expect(attempt).rejects.toMatchObject({ code: 'ERR_COPY_DIFFERS' })
    expect(target.prepare('SELECT count(*) AS n FROM users').get()).toEqual({ n: 0 })
    target.close()
  })

  it('contains exactly the commits before its start', async () => {
    const [from, to] = [await seeded(), newPath()]
    const store = openSqliteStore(from)
    onTestFinished(() => store.close())
    const writes: Promise<void>[] = []

    await copyStore(createSqliteEndpoint(from), createSqliteEndpoint(to), (table) => {
      if (table !== 'users') return
      writes.push(store.transaction((writer) => writer.secrets.insert('late', new Uint8Array(1))))
    })
    await Promise.all(writes)

    expect(writes).toHaveLength(1)
    const copied = openSqliteStore(to)
    onTestFinished(() => copied.close())
    expect(await copied.read((reader) => reader.users.find('ann'))).not.toBeNull()
    expect(await copied.read((reader) => reader.secrets.find('late'))).toBeNull()
  })

  it('refuses a source of another schema', async () => {
    const [from, to] = [await seeded(), newPath()]
    const source = new Sqlite(from)
    source.pragma('user_version = 999')
    source.close()

    const attempt = copyStore(createSqliteEndpoint(from), createSqliteEndpoint(to), silent)

    await expect(attempt).rejects.toMatchObject({ code: 'ERR_COPY_SCHEMA' })
  })
})

import { describe, expect, it, onTestFinished } from 'vitest'
import { parseDatabaseUrl } from '../../../server/src/store/postgres/database-url.ts'
import { migrate as migratePostgres } from '../../../server/src/store/postgres/migrate.ts'
import {
  openPostgresStore,
  withConnection,
} from '../../../server/src/store/postgres/open-postgres-store.ts'
import { hasPostgres, unusedDatabase } from '../postgres/test-postgres.ts'
import { NEWER } from './newer-migrations.ts'

describe.skipIf(!hasPostgres())('a PostgreSQL database', () => {
  const inDatabase = (
    url: string,
    work: Parameters<typeof withConnection<unknown>>[2],
  ): Promise<unknown> => withConnection(parseDatabaseUrl(url), { mayTakeLong: false }, work)

  it('of a newer release is refused and not changed', async () => {
    const url = await unusedDatabase()
    await inDatabase(url, (connection) => migratePostgres(connection, NEWER))

    await expect(openPostgresStore(url)).rejects.toMatchObject({ code: 'ERR_STORE_SCHEMA_TOO_NEW' })

    const rows = inDatabase(url, (connection) =>
      connection.execute('SELECT version FROM palisade_store'),
    )
    expect(await rows).toEqual([{ version: NEWER.length }])
  })

  it('stays readable to a reader that started before a migration by a newer release', async () => {
    const url = await unusedDatabase()
    const store = await openPostgresStore(url)
    onTestFinished(() => store.close())
    await store.transaction(({ secrets }) => secrets.insert('before', new Uint8Array(1)))

    const found = await store.read(async ({ secrets }) => {
      await (await openPostgresStore(url, { migrations: NEWER })).close()
      return secrets.find('before')
    })

    expect(found).toHaveLength(1)
  })

  it('keeps its old schema when a step of a migration fails', async () => {
    const url = await unusedDatabase()
    const broken = [() => 'CREATE TABLE more (id TEXT)', () => 'CREATE TABLE oops (']

    await expect(
      inDatabase(url, (connection) => migratePostgres(connection, broken)),
    ).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })

    const tables = inDatabase(url, (connection) =>
      connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
    )
    expect(await tables).toEqual([])
  })
})

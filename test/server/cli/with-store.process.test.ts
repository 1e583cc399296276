import { readConfig } from '@palisade/server'
import { describe, expect, it } from 'vitest'
import { listOrganizationsCommand } from '../../../server/src/cli/organization-settings.ts'
import { openStore } from '../../../server/src/operations/storage/open-store.ts'
import { migrate as migratePostgres } from '../../../server/src/store/postgres/migrate.ts'
import { parseDatabaseUrl } from '../../../server/src/store/postgres/database-url.ts'
import { withConnection } from '../../../server/src/store/postgres/open-postgres-store.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import { hasPostgres, unusedDatabase } from '../postgres/test-postgres.ts'
import { NEWER, TOO_OLD, refusal } from './old-database.ts'

describe.skipIf(!hasPostgres())('a command on existing data in PostgreSQL', () => {
  const list = (url: string) => listOrganizationsCommand(readConfig({ DATABASE_URL: url }, '/'), {})

  it('creates no tables in a wrong database', async () => {
    const url = await unusedDatabase()

    await expect(list(url)).rejects.toEqual(refusal(/has no tables of Palisade.*`DATABASE_URL`/))

    const tables = await withConnection(
      parseDatabaseUrl(url),
      { mayTakeLong: false },
      (connection) =>
        connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
    )
    expect(tables).toEqual([])
  })

  it('does not migrate the database of an older server', async () => {
    const url = await unusedDatabase()
    const address = parseDatabaseUrl(url)
    await withConnection(address, { mayTakeLong: false }, (connection) =>
      migratePostgres(connection, MIGRATIONS),
    )
    const config = readConfig({ DATABASE_URL: url }, '/')

    await expect(openStore(config, 'existing', NEWER)).rejects.toEqual(refusal(new RegExp(TOO_OLD)))
  })
})

import { describe } from 'vitest'
import { parseDatabaseUrl } from '../../../server/src/store/postgres/database-url.ts'
import {
  openPostgresStore,
  withConnection,
} from '../../../server/src/store/postgres/open-postgres-store.ts'
import { hasPostgres, testDatabase, unusedDatabase } from '../postgres/test-postgres.ts'
import { describeSchemaGuard } from './schema-conformance.ts'
import { describeStore } from './store-conformance.ts'

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  describeStore('the PostgreSQL store', async () => {
    const { url } = await testDatabase()
    return () => openPostgresStore(url)
  })

  describeSchemaGuard('the PostgreSQL store', async () => {
    const url = await unusedDatabase()
    return {
      open: () => openPostgresStore(url),
      async migrate(migrations) {
        const newer = await openPostgresStore(url, { migrations })
        await newer.close()
      },
      async damage(sql) {
        await withConnection(parseDatabaseUrl(url), { mayTakeLong: true }, (connection) =>
          connection.execute(sql),
        )
      },
    }
  })
})

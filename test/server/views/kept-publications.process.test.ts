import { describe, onTestFinished } from 'vitest'
import { openPostgresStore } from '../../../server/src/store/postgres/open-postgres-store.ts'
import { hasPostgres, testDatabase } from '../postgres/test-postgres.ts'
import { describeStore } from './publication-law.ts'

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  describeStore('on PostgreSQL', 2, async () => {
    const { url, administer } = await testDatabase()
    const store = await openPostgresStore(url)
    onTestFinished(() => store.close())
    return { store, query: (sql) => administer<Record<string, unknown>>(sql) }
  })
})

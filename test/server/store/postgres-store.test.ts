import { describe } from 'vitest'
import { openPostgresStore } from '../../../server/src/store/postgres/open-postgres-store.ts'
import { hasPostgres, testDatabase } from '../postgres/test-postgres.ts'
import { describeStore } from './store-conformance.ts'

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  describeStore('the PostgreSQL store', async () => {
    const { url } = await testDatabase()
    return () => openPostgresStore(url)
  })
})

import { describe } from 'vitest'
import { openPostgresStore } from '../../../../server/src/store/postgres/open-postgres-store.ts'
import { hasPostgres, testDatabase } from '../../postgres/test-postgres.ts'
import { describeRaces } from './publisher-scene.ts'

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  describeRaces('on PostgreSQL', async () => {
    const { url } = await testDatabase()
    return () => openPostgresStore(url)
  })
})

import { describe } from 'vitest'
import { openPostgresEvidence } from '../../../../server/src/evidence/store/postgres/open-postgres-evidence.ts'
import { hasPostgres, testDatabase } from '../../postgres/test-postgres.ts'
import { describeEvidence } from './evidence-conformance.ts'

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  describeEvidence('the PostgreSQL evidence', async () => {
    const { url } = await testDatabase()
    return () => openPostgresEvidence(url)
  })
})

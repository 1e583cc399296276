import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openEvidenceStore } from '../../../../server/src/evidence/store/open-evidence-store.ts'
import { hasPostgres, testDatabase } from '../../postgres/test-postgres.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { batch, listAll, row } from './evidence-batches.ts'

describe.skipIf(!hasPostgres())('the evidence of a PostgreSQL', () => {
  it('is in a schema of its own, and the data directory stays empty', async () => {
    const database = await testDatabase()
    const dataDir = join(temporaryDirectory(), 'absent')

    const store = await openEvidenceStore({
      dataDir,
      databaseUrl: database.url,
      databaseConnections: 1,
    })

    await store.append(batch({ rows: [row()] }))
    expect(await listAll(store)).toHaveLength(1)
    await store.close()
    const [counted] = await database.administer<{ count: string }>(
      'SELECT count(*) FROM palisade_evidence.records',
    )
    expect(counted).toEqual({ count: '1' })
    expect(statSync(dataDir, { throwIfNoEntry: false })).toBeUndefined()
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { runServerCommand } from '../server-process.ts'
import { NOW } from './audit/audited-records.ts'
import { createDatabaseFile, type DatabaseFile } from './database-file.ts'
import { furnish } from './furnished-organization.ts'

describe('comparing the stored state with the history', () => {
  let database: DatabaseFile
  beforeEach(async () => {
    database = createDatabaseFile()
    await database.withStore((store) =>
      createAuditedStore({ store, now: () => new Date(NOW) }).write(OPERATOR, furnish),
    )
  })

  it('is done by `verify-history --state`, which exits with 1 for a difference', async () => {
    const settings = { PALISADE_DATA_DIR: database.dataDir }
    const good = await runServerCommand(['verify-history', '--state', '--json'], settings)
    database.tamper(`UPDATE rules SET resources = '["**"]'`)

    const chain = await runServerCommand(['verify-history'], settings)
    const bad = await runServerCommand(['verify-history', '--state'], settings)
    const json = await runServerCommand(['verify-history', '--state', '--json'], settings)

    expect(good.status, good.stderr).toBe(0)
    expect(JSON.parse(good.stdout)).toMatchObject({ organizations: [{ differences: [] }] })
    expect(chain.status).toBe(0)
    expect([bad.status, bad.stderr]).toEqual([
      1,
      expect.stringMatching(/^palisade-server: `acme`: rule .* not as in event \d+\n$/),
    ])
    expect(JSON.parse(json.stdout)).toMatchObject({
      organizations: [{ differences: [{ kind: 'rule', members: ['resources'] }] }],
    })
  })
})

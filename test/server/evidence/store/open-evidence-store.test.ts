import Sqlite from 'better-sqlite3'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openEvidenceStore } from '../../../../server/src/evidence/store/open-evidence-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { batch, row } from './evidence-batches.ts'

const sqlite = (dataDir: string) => ({ dataDir, databaseUrl: null, databaseConnections: 1 })

describe('the evidence of a data directory', () => {
  it('is in a file of its own that only its owner can read', async () => {
    const directory = temporaryDirectory()

    const store = await openEvidenceStore(sqlite(directory))

    await store.append(batch({ rows: [row()] }))
    for (const end of ['', '-wal'])
      expect(statSync(join(directory, `evidence.db${end}`)).mode & 0o777).toBe(0o600)
    await store.close()
  })

  it.each([
    ['of another application', (path: string) => other(path, 'CREATE TABLE places (url TEXT)')],
    ['of policies', (path: string) => other(path, 'CREATE TABLE policies (id TEXT)')],
    ['of a newer release', (path: string) => other(path, 'PRAGMA user_version = 99')],
    ['that is no database', (path: string) => writeFileSync(path, 'no database'.repeat(1000))],
    ['that is a directory', (path: string) => mkdirSync(path)],
  ])('is refused with its name for a file %s', async (_title, make) => {
    const directory = temporaryDirectory()
    const path = join(directory, 'evidence.db')
    make(path)

    await expect(openEvidenceStore(sqlite(directory))).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining(path) as string,
    })
  })
})

function other(path: string, sql: string): void {
  const database = new Sqlite(path)
  database.exec(sql)
  database.close()
}

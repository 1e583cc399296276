import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { appendRows, row } from './evidence-batches.ts'
import { describeEvidence } from './evidence-conformance.ts'

describeEvidence('the SQLite evidence', () => {
  const path = join(temporaryDirectory(), 'evidence.db')
  return () => openSqliteEvidence(path)
})

describe('the SQLite evidence', () => {
  it('leaves turns to others while it reads a large batch for its export', async () => {
    const evidence = openSqliteEvidence(join(temporaryDirectory(), 'evidence.db'))
    onTestFinished(() => evidence.close())
    await evidence.setExporters(['otlp'])
    const hosts = Array.from({ length: 2_000 }, (_, index) => `${index}.example`)
    await appendRows(
      evidence,
      hosts.map((host) => row({ tuple: { host } })),
    )
    let turns = 0
    let next: NodeJS.Immediate
    const count = (): void => {
      turns += 1
      next = setImmediate(count)
    }
    next = setImmediate(count)
    const { rows } = await evidence.unexported('otlp', 2_000)
    clearImmediate(next)
    expect(rows.map(({ id }) => id)).toEqual(hosts.map((_, index) => index + 1))
    expect(turns).toBeGreaterThan(4)
  })
})

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openLastingEvidence } from '../../../../server/src/evidence/store/lasting-evidence.ts'
import { openEvidenceStore } from '../../../../server/src/evidence/store/open-evidence-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { batch, listAll, row } from './evidence-batches.ts'

const BROKEN = 'no database'.repeat(1000)

describe('the evidence of a running server', () => {
  it('is opened later where its file is broken at the start', async () => {
    const dataDir = temporaryDirectory()
    const path = join(dataDir, 'evidence.db')
    writeFileSync(path, BROKEN)
    let nowMs = 0
    let attempts = 0
    const evidence = await openLastingEvidence(
      () => {
        attempts += 1
        return openEvidenceStore({ dataDir, databaseUrl: null, databaseConnections: 1 })
      },
      () => nowMs,
    )
    const refusal = { code: 'ERR_STORE_UNAVAILABLE', message: expect.stringContaining(path) }

    expect(evidence.fault()).toMatchObject({ name: 'ConfigError' })
    await expect(evidence.append(batch({ rows: [row()] }))).rejects.toMatchObject(refusal)
    rmSync(path)
    await expect(listAll(evidence)).rejects.toMatchObject(refusal)
    expect(attempts).toBe(1)

    nowMs = 30_000
    await evidence.append(batch({ rows: [row()] }))
    expect(await listAll(evidence)).toHaveLength(1)
    expect([evidence.fault(), attempts]).toEqual([null, 2])
    await evidence.close()
    await expect(evidence.days()).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  })
})

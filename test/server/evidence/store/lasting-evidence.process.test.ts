import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openLastingEvidence } from '../../../../server/src/evidence/store/lasting-evidence.ts'
import { openEvidenceStore } from '../../../../server/src/evidence/store/open-evidence-store.ts'
import { runServerCommand, startServerProcess } from '../../server-process.ts'
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

  it('does not keep a server with a broken file from its policies', async () => {
    const dataDir = join(temporaryDirectory(), 'data')
    const settings = { PALISADE_DATA_DIR: dataDir }
    const made = await runServerCommand(
      ['init', '--org', 'acme', '--owner', 'alice', '--json'],
      settings,
    )
    const { personal_token: password } = JSON.parse(made.stdout) as { personal_token: string }
    writeFileSync(join(dataDir, 'evidence.db'), BROKEN)
    const server = await startServerProcess(settings)
    const call = async (path: string, token = '', body?: object) => {
      const answer = await fetch(`${server.url}${path}`, {
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    }

    const { body } = await call('/v2/auth/token', '', { username: 'alice', password })
    const token = String(body['access_token'])
    const policies = await call('/v2/orgs/acme/governance/policies', token)
    const audit = await call('/v2/auditlogs/governance/acme', token)

    expect([policies.status, audit.status]).toEqual([200, 503])
    const { status, stdout } = await server.stop('SIGTERM')
    expect(status).toBe(0)
    expect(stdout).toContain('decision records are refused')
  })
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runServerCommand, startServerProcess } from '../../server-process.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const BROKEN = 'no database'.repeat(1000)

describe('the evidence of a running server', () => {
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

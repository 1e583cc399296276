import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

it('backs up a running server, and the restored server works as before', async () => {
  const root = temporaryDirectory()
  const file = join(root, 'backup.db')
  const settings = { PALISADE_DATA_DIR: join(root, 'data') }
  const created = JSON.parse(
    (await runServerCommand(['init', '--org', 'acme', '--owner', 'alice', '--json'], settings))
      .stdout,
  ) as { personal_token: string }
  const first = await startServerProcess(settings)
  const token = await signIn(first.url, created.personal_token)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const policies = (url: string) => `${url}/v2/orgs/acme/governance/policies`
  const body = JSON.stringify({ name: 'web' })
  expect((await fetch(policies(first.url), { method: 'POST', headers, body })).status).toBe(201)

  const backup = await runServerCommand(['backup', '--json', file], settings)
  const refused = await runServerCommand(['restore', '--force', file], settings)
  await first.stop('SIGTERM')

  expect(backup).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(backup.stdout)).toMatchObject({ file, rows: expect.any(Number) })
  expect(refused).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^palisade-server: a server or command is using .*\n$/),
  })

  const elsewhere = { PALISADE_DATA_DIR: join(root, 'restored') }
  const restored = await runServerCommand(['restore', file], elsewhere)
  expect(restored).toMatchObject({ status: 0, stderr: '' })
  expect(restored.stdout).toContain('Credentials revoked since the backup are valid again')
  const second = await startServerProcess(elsewhere)
  // The access token and its signing key are from before the backup.
  const listed = await fetch(policies(second.url), { headers })
  expect(((await listed.json()) as { data: unknown[] }).data).toMatchObject([{ name: 'web' }])
  expect((await second.stop('SIGTERM')).status).toBe(0)
  expect(readdirSync(root).toSorted()).toEqual(['backup.db', 'data', 'restored'])
})

it('refuses a PostgreSQL database and names its tools', async () => {
  const settings = {
    PALISADE_DATA_DIR: temporaryDirectory(),
    DATABASE_URL: 'postgres://palisade@127.0.0.1:1/palisade',
  }

  for (const command of ['backup', 'restore']) {
    const { status, stderr } = await runServerCommand([command, 'file'], settings)
    expect(status).toBe(1)
    expect(stderr).toContain(command === 'backup' ? 'pg_dump' : 'pg_restore')
  }
})

async function signIn(url: string, secret: string): Promise<string> {
  const response = await fetch(`${url}/v2/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'alice', password: secret }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}

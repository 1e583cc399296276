import { createDeviceKey, createProver } from '@palisade/client'
import Sqlite from 'better-sqlite3'
import { errorEnvelopeSchema } from '@palisade/protocol'
import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fillPath, pathParameters, readDocument, type Operation } from '../contract/operations.ts'
import { runServerCommand, startServerProcess } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { fill, isRoot, mountDisk } from './small-disk.ts'

if (!isRoot) process.stderr.write('not root, so no disk can be filled: its tests are SKIPPED\n')

/** Other values of path parameters: `max` is not in the team yet, `mia` can be removed from it. */
const OTHER_VALUES: Readonly<Record<string, Record<string, string>>> = {
  addTeamMember: { username: 'max' },
  addTeamApprover: { username: 'max' },
}

/**
 * Operations without a write, or with a refusal before it: for a password, an unknown delivery or
 * invitation, or the state of a rollout or an access request.
 */
const NO_WRITES = new Set([
  'acceptInvitation',
  'declineInvitation',
  'withdrawInvitation',
  'checkAccess',
  'createAccessToken',
  'changePassword',
  'redeliver',
  'replayRecords',
  'startRollout',
  'resumeRollout',
  'revokeAccessRequest',
])
/** Reads that sign metadata, like a poll, which may have been signed before the disk was full. */
const SIGNING = new Set(['getDeviceBundle', 'getRevisionStatus', 'getRollout'])
/** The reading of the audit log is an event. */
const WRITING = new Set(['listAuditLogs', 'downloadAuditLog'])
const ROLLOUT = {
  stages: [{ label: 'canary' }, { percent: 100 }],
  max_rejected: { machines: 0 },
  force: true,
}
const ACCESS = {
  action: 'connect:tcp',
  resources: ['example.org:443'],
  duration_seconds: 3600,
  reason: 'a release',
}
const POLICIES = '/v2/orgs/acme/governance/policies'

interface Client {
  readonly origin: string
  readonly token: string
}

describe.skipIf(!isRoot)(
  'a disk without room',
  () => {
    it('refuses all writes with 503, answers reads, and later accepts writes again', async () => {
      const disk = mountDisk('4m')
      const settings = {
        PALISADE_DATA_DIR: join(disk, 'data'),
        PALISADE_MAX_POLICIES: '100000',
        PALISADE_WEBHOOK_NETWORKS: '127.0.0.0/8',
      }
      const init = await runServerCommand(
        ['init', '--org', 'acme', '--owner', 'alice', '--json'],
        settings,
      )
      const { personal_token: secret } = JSON.parse(init.stdout) as { personal_token: string }
      const server = await startServerProcess(settings)
      const database = join(disk, 'data', 'server.db')
      const client = { origin: server.url, token: await signIn(server.url, secret) }
      const there = await populate(client)
      const document = readDocument(await (await fetch(`${server.url}/openapi.json`)).json())
      const writes = document.operations.filter(
        ({ id, method, security }) =>
          method !== 'GET' && security === 'access_token' && !NO_WRITES.has(id),
      )
      expect(writes.length).toBeGreaterThan(15)

      fillDatabase(database, join(disk, 'ballast'))
      const refusals: string[] = []
      for (const operation of writes) {
        const { status, code, retryAfter } = await call(client, operation, there)
        refusals.push(`${operation.id}: ${status} ${String(code)}, ${String(retryAfter)} s`)
      }
      expect(refusals).toEqual(writes.map(({ id }) => `${id}: 503 internal, 5 s`))
      const reads = document.operations.filter(
        ({ method, security }) => method === 'GET' && security === 'access_token',
      )
      for (const operation of reads) {
        const { status } = await call(client, operation, there)
        const expected = WRITING.has(operation.id) ? 503 : 200
        const isSigned = SIGNING.has(operation.id) && status === 503
        expect(`${operation.id}: ${isSigned ? 200 : status}`).toBe(`${operation.id}: ${expected}`)
      }
      expect(await send(client, 'GET', '/healthz')).toMatchObject({ status: 200 })
      expect(await names(client)).toEqual(['first'])

      rmSync(join(disk, 'ballast'))
      expect((await send(client, 'POST', POLICIES, { name: 'room again' })).status).toBe(201)
      await server.stop('SIGKILL')
      requireWhole(database)
      const again = await startServerProcess(settings)
      expect(await names({ ...client, origin: again.url })).toEqual(['first', 'room again'])
      await again.stop('SIGTERM')
    })

    it('ends a start with 1, and a later one succeeds with room', async () => {
      const disk = mountDisk('4m')
      const settings = { PALISADE_DATA_DIR: join(disk, 'data') }
      fill(join(disk, 'ballast'))

      const outcome = await runServerCommand(['start'], { ...settings, PALISADE_PORT: '0' })

      expect(outcome.status).toBe(1)
      expect(outcome.stderr).toMatch(/^palisade-server: .*(ENOSPC|SQLITE_FULL).*\n$/)
      rmSync(join(disk, 'ballast'))
      const server = await startServerProcess(settings)
      expect((await server.stop('SIGTERM')).status).toBe(0)
    })

    it('fails a backup with a message and without a file', async () => {
      const settings = { PALISADE_DATA_DIR: join(temporaryDirectory(), 'data') }
      await runServerCommand(['init', '--org', 'acme', '--owner', 'alice'], settings)
      const disk = mountDisk('4m')
      const file = join(disk, 'backup.db')
      fill(join(disk, 'ballast'))

      const full = await runServerCommand(['backup', file], settings)
      execFileSync('mount', ['-o', 'remount,ro', disk])
      const readOnly = await runServerCommand(['backup', file], settings)

      const noRoom = `palisade-server: no space is left for \`${file}\` `
      expect([full.status, full.stderr]).toEqual([1, expect.stringContaining(noRoom)])
      expect(readOnly).toMatchObject({
        status: 1,
        stderr:
          `palisade-server: directory \`${disk}\` cannot be written (EROFS); ` +
          'name another directory\n',
      })
      expect(readdirSync(disk)).toEqual(['ballast'])
    })

    it('ends a start with a message when it is read-only', async () => {
      const disk = mountDisk('4m')
      const settings = { PALISADE_DATA_DIR: join(disk, 'data') }
      await runServerCommand(['init', '--org', 'acme', '--owner', 'alice'], settings)
      execFileSync('mount', ['-o', 'remount,ro', disk])

      const outcome = await runServerCommand(['start'], { ...settings, PALISADE_PORT: '0' })

      expect(outcome.status).toBe(78)
      expect(outcome.stderr.trimEnd().split('\n')).toHaveLength(1)
      execFileSync('mount', ['-o', 'remount,rw', disk])
      const server = await startServerProcess(settings)
      expect((await server.stop('SIGTERM')).status).toBe(0)
    })
  },
  600_000,
)

/** Uses up the disk, and then the pages of the database and its log, which have their size. */
function fillDatabase(path: string, filling: string): void {
  const database = new Sqlite(path, { fileMustExist: true })
  try {
    database.exec('CREATE TABLE filling (bytes BLOB)')
    fill(filling)
    const insert = database.prepare('INSERT INTO filling VALUES (zeroblob(?))')
    for (const size of [65_536, 4096, 1]) while (hasRoomFor(() => insert.run(size)));
  } finally {
    database.close()
  }
}

function hasRoomFor(write: () => unknown): boolean {
  try {
    write()
    return true
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_FULL') return false
    throw error
  }
}

async function names(client: Client): Promise<string[]> {
  const { body } = await send(client, 'GET', '/api/v1/orgs/acme/effective-policy')
  return (body as { policies: { name: string }[] }).policies.map(({ name }) => name)
}

/** Creates one entity of every kind, for the path parameters of all operations. */
async function populate(client: Client): Promise<Record<string, string>> {
  const api = '/api/v1/orgs/acme'
  const make = async (path: string, payload: object, member = 'id'): Promise<string> => {
    const { status, body } = await send(client, 'POST', path, payload)
    if (status !== 201) throw new Error(`${path}: ${JSON.stringify(body)}`)
    return String((body as Record<string, unknown>)[member])
  }
  const enrolment = { name: 'one', max_uses: 1, expires_in_days: 1 }
  const secret = { name: 'one', permissions: ['policies:read'], expires_in_days: 1 }
  const rule = {
    name: 'r',
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: ['example.org'],
  }
  for (const username of ['mia', 'max']) await make(`${api}/members`, { username, role: 'member' })
  const policy_id = await make(POLICIES, { name: 'first' })
  const team = await make(`${api}/teams`, { name: 'of its own' })
  await send(client, 'PUT', `${api}/teams/${team}/members/mia`)
  await send(client, 'PUT', `${api}/teams/${team}/approvers/mia`)
  return {
    org: 'acme',
    revision: '1',
    username: 'mia',
    team,
    policy_id,
    rule_id: await make(`${POLICIES}/${policy_id}/rules`, rule),
    device: await make(`${api}/devices`, { user: 'mia' }, 'device_id'),
    enrolment_token: await make(`${api}/enrolment-tokens`, enrolment),
    token: await make(`${api}/access-tokens`, secret),
    // No process listens there.
    rollout: await make(`${api}/rollouts`, ROLLOUT),
    request: await make(`${api}/access-requests`, ACCESS),
    webhook: await make(`${api}/webhooks`, { url: 'https://127.0.0.1:9/' }),
    personal_token: await make('/api/v1/user/access-tokens', secret),
  }
}

async function call(
  client: Client,
  { id, method, path, example }: Operation,
  there: Readonly<Record<string, string>>,
) {
  const all: Readonly<Record<string, string>> = { ...there, ...OTHER_VALUES[id] }
  const values = pathParameters(path).map((name) => {
    const kind = name === 'token' && path.startsWith('/api/v1/user/') ? 'personal_token' : name
    return [name, all[kind] ?? ''] as const
  })
  // A dry run would not write.
  const payload =
    example !== null && 'dry_run' in example ? { ...example, dry_run: false } : example
  return send(client, method, fillPath(path, Object.fromEntries(values)), payload ?? undefined)
}

async function send(client: Client, method: string, path: string, payload?: object) {
  const url = `${client.origin}${path}`
  // Only the enrolment of a machine reads the proof, each time of a new key.
  const dpop = createProver(createDeviceKey(), Date.now)({ method, url })
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${client.token}`,
      dpop,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
  })
  const text = await response.text()
  const body: unknown = text === '' ? null : JSON.parse(text)
  const envelope = errorEnvelopeSchema.safeParse(body)
  return {
    status: response.status,
    code: envelope.data?.error.code,
    retryAfter: response.headers.get('retry-after'),
    body,
  }
}

async function signIn(origin: string, password: string): Promise<string> {
  const response = await fetch(`${origin}/v2/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'alice', password }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}

function requireWhole(path: string): void {
  const database = new Sqlite(path, { readonly: true, fileMustExist: true })
  try {
    expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }])
  } finally {
    database.close()
  }
}

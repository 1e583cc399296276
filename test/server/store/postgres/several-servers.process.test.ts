import { deviceViewSchema, enrolmentSchema, hintSchema } from '@palisade/protocol'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openPostgresStore } from '../../../../server/src/store/postgres/open-postgres-store.ts'
import type { BorrowedDatabase } from '../../postgres/database-pool.ts'
import { hasPostgres, testDatabase } from '../../postgres/test-postgres.ts'
import { runServerCommand, startServerProcess, type RunningServer } from '../../server-process.ts'
import { openFileDevice } from '../../test-device.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

/** More than the promised second, for a busy machine. */
const PATIENCE = { timeout: 300_000, interval: 25 }
const CUT_WATCHERS = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE '%commits'`

describe.skipIf(!hasPostgres())('several servers on one PostgreSQL', () => {
  let database: BorrowedDatabase
  let settings: Record<string, string>
  let directory: string
  let one: RunningServer
  let other: RunningServer
  let alice: string
  let view: string

  beforeEach(async () => {
    database = await testDatabase()
    directory = temporaryDirectory()
    const dataDir = join(directory, 'data')
    settings = { DATABASE_URL: database.url, PALISADE_DATA_DIR: dataDir }
    const outcome = await runServerCommand(
      ['init', '--org', 'acme', '--owner', 'alice', '--json'],
      settings,
    )
    expect(outcome.stderr).toBe('')
    const { personal_token } = JSON.parse(outcome.stdout) as { personal_token: string }
    ;[one, other] = await Promise.all([startServerProcess(settings), startServerProcess(settings)])
    expect(existsSync(dataDir)).toBe(false)
    const credentials = { username: 'alice', password: personal_token }
    const answer = await send(one, 'POST', '/v2/auth/token', credentials, '')
    alice = ((await answer.json()) as { access_token: string }).access_token
  })

  function send(
    server: RunningServer,
    method: string,
    path: string,
    body?: object,
    token = alice,
  ): Promise<Response> {
    return fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async function enrol(...more: string[]) {
    const out = join(directory, 'device.json')
    const { stderr } = await runServerCommand(
      ['device', 'enrol', '--org', 'acme', '--server', one.url, '--out', out, ...more],
      settings,
    )
    expect(stderr).toBe('')
    const { device_id } = enrolmentSchema.parse(JSON.parse(readFileSync(out, 'utf8')))
    return { device_id, machine: await openFileDevice(out) }
  }

  const waitingOn = async (server: RunningServer) => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    return Number(/^palisade_queue_length\{queue="hints"\} (\d+)$/m.exec(text)?.[1])
  }

  const poll = (server: RunningServer, { machine }: Awaited<ReturnType<typeof enrol>>) =>
    machine.fetch(`${server.url}${view}/metadata/timestamp.json`)

  it('serve a change of another server within a second, even if not notified', async () => {
    const device = await enrol()
    const assigned = await device.machine.fetch(`${one.url}/api/v1/device/view`)
    view = `/api/v1/orgs/acme/views/${deviceViewSchema.parse(await assigned.json()).signed.view}`
    const tagOf = async (server: RunningServer) => (await poll(server, device)).headers.get('etag')
    const path = '/v2/orgs/acme/governance/policies'

    for (const disturb of ['SELECT 1', CUT_WATCHERS]) {
      const before = await tagOf(other)
      expect(await tagOf(one)).toBe(before)
      await database.administer(disturb)

      const created = await send(one, 'POST', path, { name: disturb.slice(0, 9), scope: {} })
      expect(created.status, await created.clone().text()).toBe(201)

      await expect.poll(() => tagOf(other), PATIENCE).not.toBe(before)
      expect(await tagOf(other)).toBe(await tagOf(one))
      const { id } = (await created.json()) as { id: string }
      expect((await send(other, 'GET', `${path}/${id}`)).status).toBe(200)
    }

    const hint = async (query = '') => {
      const answer = await device.machine.fetch(`${other.url}/api/v1/device/hint${query}`)
      expect(answer.status).toBe(200)
      return hintSchema.parse(await answer.json()).revision
    }
    const revision = await hint()
    for (const disturb of ['SELECT 2', CUT_WATCHERS]) {
      const before = await tagOf(one)
      const waiting = hint(`?since=${await hint()}`)
      await expect.poll(() => waitingOn(other), PATIENCE).toBe(1)
      await database.administer(disturb)
      expect(
        (await send(one, 'POST', path, { name: `${disturb.slice(0, 8)} again`, scope: {} })).status,
      ).toBe(201)

      expect(await waiting).toBeGreaterThan(revision)
      // On any server that the machine asks.
      expect(await Promise.all([tagOf(one), tagOf(other)])).not.toContain(before)
    }

    const url = `/api/v1/orgs/acme/devices/${device.device_id}`
    await database.administer(CUT_WATCHERS)
    expect((await send(one, 'DELETE', url)).status).toBe(204)

    await expect.poll(async () => (await poll(other, device)).status, PATIENCE).toBe(401)
    expect((await poll(one, device)).status).toBe(401)
  })

  it('tell a machine that waits on one of them of a grant approved on another', async () => {
    const { machine } = await enrol('--user', 'alice')
    const signedBy = async (server: RunningServer) => {
      const answer = await machine.fetch(`${server.url}/api/v1/device/view`)
      return deviceViewSchema.parse(await answer.json()).signed
    }
    const hint = async (query: string) => {
      const answer = await machine.fetch(`${other.url}/api/v1/device/hint${query}`)
      return hintSchema.parse(await answer.json())
    }
    const requests = '/api/v1/orgs/acme/access-requests'
    const asked = await send(one, 'POST', requests, {
      action: 'connect:tcp',
      resources: ['a.example.com:443'],
      duration_seconds: 3600,
      reason: 'a release',
    })
    const { id } = (await asked.json()) as { id: string }
    const { version } = await signedBy(one)
    const { revision } = await hint('')

    for (const [action, body] of [
      ['approve', {}],
      ['revoke', { answer: 'done' }],
    ] as const) {
      const { version: held } = await signedBy(one)
      const waiting = hint(`?since=${revision}&assignment=${held}`)
      await expect.poll(() => waitingOn(other), PATIENCE).toBe(1)
      const path = `${requests}/${id}/${action}`
      expect((await send(one, 'POST', path, body)).status).toBe(200)

      const told = await waiting
      expect(told.revision).toBe(revision)
      expect(told.assignment).toBeGreaterThan(held)
      for (const server of [one, other]) {
        const { version: newest, grants } = await signedBy(server)
        expect([newest, grants?.length]).toEqual([
          told.assignment,
          action === 'approve' ? 1 : undefined,
        ])
      }
    }
    expect((await signedBy(other)).version).toBeGreaterThan(version)
  })
})

describe.skipIf(!hasPostgres())('a store on PostgreSQL', () => {
  it('notices a commit without a notification within a second', async () => {
    const { url, administer } = await testDatabase()
    const store = await openPostgresStore(url)
    onTestFinished(() => store.close())
    const before = store.generation()

    await administer('UPDATE palisade_store SET commits = commits + 1')

    await expect.poll(() => store.generation(), PATIENCE).not.toBe(before)
  })
})

describe.skipIf(!hasPostgres())('a server without its database', () => {
  it('fails with one line that does not reveal the password', async () => {
    const start = (url: string) =>
      runServerCommand(['start'], { DATABASE_URL: url, PALISADE_PORT: '0' })

    const away = await start('postgres://ann:secret@%2Fabsent/palisade')

    expect(away).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'palisade-server: database `postgres://%2Fabsent/palisade` cannot be opened: ' +
        'the database does not answer: ENOENT\n',
    })
    const { url } = await testDatabase()
    const missing = await start(url.replace(/[^/]*$/, 'absent'))
    expect(missing.status).toBe(78)
    expect(missing.stderr).toMatch(
      /^palisade-server: PostgreSQL has no database `[^`]+\/absent`; create it, or .*\n$/,
    )
  })
})

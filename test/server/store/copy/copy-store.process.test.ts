import { createDeviceKey, createProver } from '@palisade/client'
import type { DeviceView } from '@palisade/protocol'
import { createServer, readConfig } from '@palisade/server'
import { execFileSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createOrganization } from '../../../../server/src/organizations/create-organization.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import { pruneHistory } from '../../../../server/src/history/prune-history.ts'
import { verifyHistory } from '../../../../server/src/history/verify-history.ts'
import { copyStore } from '../../../../server/src/store/copy/copy-store.ts'
import { createPostgresEndpoint } from '../../../../server/src/store/copy/postgres-endpoint.ts'
import { createSqliteEndpoint } from '../../../../server/src/store/copy/sqlite-endpoint.ts'
import { openPostgresStore } from '../../../../server/src/store/postgres/open-postgres-store.ts'
import { TABLES } from '../../../../server/src/store/aggregates/aggregates.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import { hasPostgres, testDatabase } from '../../postgres/test-postgres.ts'
import { runServerCommand } from '../../server-process.ts'
import { TEST_ORIGIN } from '../../test-device.ts'
import { openTestEvidence } from '../test-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { AT, silent, newPath } from './copy-scene.ts'

const POLICIES = '/v2/orgs/acme/governance/policies'
const LATER = '2026-11-22T08:00:00.000Z'

const sources = {
  now: () => new Date(AT),
  monotonicMs: () => performance.now(),
  random: (bytes: number) => randomBytes(bytes),
  newId: () => randomUUID(),
}

/** A server on a store, and functions to query it. */
async function serve(store: Store) {
  const config = readConfig({ PALISADE_DATA_DIR: temporaryDirectory() }, '/')
  const evidence = await openTestEvidence(temporaryDirectory())
  const { app, close } = await createServer({ config, sources, store, evidence, logger: false })
  onTestFinished(async () => {
    await close()
    await evidence.close()
  })
  const send = (
    method: 'GET' | 'POST',
    url: string,
    authorization: string,
    payload?: object,
    dpop?: string,
  ) =>
    app.inject({
      method,
      url,
      headers: {
        ...(authorization === '' ? {} : { authorization }),
        ...(dpop === undefined ? {} : { dpop }),
      },
      ...(payload === undefined ? {} : { payload }),
    })
  return { send }
}

function createAcme(store: Store) {
  const organization = { name: 'acme', owner: 'alice', entitled: true }
  const audited = createAuditedStore({ store, ...sources })
  return createOrganization({ store: audited, ...sources }, organization)
}

/** A store at `path` with the data of an active organization. */
async function fillSqlite(path: string) {
  const store = openSqliteStore(path)
  const { personal_token } = await createAcme(store)
  const { send } = await serve(store)
  const signIn = { username: 'alice', password: personal_token }
  const session = await send('POST', '/v2/auth/token', '', signIn)
  const token = `Bearer ${session.json<{ access_token: string }>().access_token}`
  const prove = createProver(createDeviceKey(), () => Date.parse(AT))
  const proofOf = (method: string, path: string, accessToken?: string) =>
    prove({
      method,
      url: TEST_ORIGIN + path,
      ...(accessToken === undefined ? {} : { accessToken }),
    })
  const make = async (url: string, payload: object) => {
    const response = await send('POST', url, token, payload, proofOf('POST', url))
    expect(response.statusCode, response.body).toBe(201)
    return response.json<{ id: string }>()
  }
  const admin = '/api/v1/orgs/acme'
  const password = 'a long enough password'
  await make(`${admin}/members`, { username: 'bob', role: 'editor', password })
  const team = await make(`${admin}/teams`, { name: 'Ünïcode' })
  await make(`${admin}/access-tokens`, { name: 'ci', permissions: [], expires_in_days: 1 })
  const policy = await make(POLICIES, { name: 'wëb', scope: { teams: [team.id] } })
  // More than a page.
  await store.transaction(async (writer) => {
    const at = { org: 'acme', policyId: policy.id, updated_at: AT }
    for (let index = 0; index < 120; index += 1)
      await writer.policies.insertRule(at, {
        id: `rule_${index}`,
        name: `rule ${index}`,
        actions: ['connect:tcp'],
        decision: 'allow',
        resources: [`h${index}.example.com:443`],
      })
  })
  // A rollout that holds back no machine.
  await make(`${admin}/rollouts`, { stages: [{ percent: 100 }], max_rejected: { machines: 0 } })
  await make(`${admin}/devices`, { user: 'alice' })
  const tokenPath = '/api/v1/device/token'
  const issued = await send('POST', tokenPath, '', undefined, proofOf('POST', tokenPath))
  const { access_token } = issued.json<{ access_token: string }>()
  const device = `DPoP ${access_token}`
  const viewPath = '/api/v1/device/view'
  const proof = proofOf('GET', viewPath, access_token)
  const assigned = await send('GET', viewPath, device, undefined, proof)
  const view = `${admin}/views/${assigned.json<DeviceView>().signed.view}`
  const timestamp = `${view}/metadata/timestamp.json`
  await send('GET', timestamp, device)
  const audited = createAuditedStore({ store, ...sources })
  const limits = { before: LATER, undeliveredBefore: LATER }
  const pruned = await pruneHistory({ store: audited, ...sources }, 'acme', limits, OPERATOR)
  expect(pruned).toMatchObject({ ok: true, removed: expect.any(Number) })
  await store.close()
  return { token, policy: policy.id, device, timestamp, signIn }
}

/** The data of a store as clients see it, without values that differ between requests. */
async function answersOf(store: Store, filled: Awaited<ReturnType<typeof fillSqlite>>) {
  const { send } = await serve(store)
  const asked = [
    await send('GET', `${POLICIES}/${filled.policy}`, filled.token),
    await send('GET', '/api/v1/orgs/acme/members', filled.token),
    await send('GET', '/api/v1/orgs/acme/events', filled.token),
    await send('GET', '/api/v1/orgs/acme/rollouts', filled.token),
    await send('GET', filled.timestamp, filled.device),
  ]
  const signedIn = await send('POST', '/v2/auth/token', '', filled.signIn)
  return {
    statuses: [signedIn, ...asked].map(({ statusCode }) => statusCode),
    answers: asked.map(({ headers, body }) => [headers.etag, body]),
  }
}

describe.skipIf(!hasPostgres())('a copy', () => {
  it('to PostgreSQL and back answers like the original, and continues from there', async () => {
    const [path, back] = [newPath(), newPath()]
    const filled = await fillSqlite(path)
    const { url } = await testDatabase()

    const sent = await copyStore(createSqliteEndpoint(path), createPostgresEndpoint(url), silent)
    const returned = await copyStore(
      createPostgresEndpoint(url),
      createSqliteEndpoint(back),
      silent,
    )

    expect(returned).toEqual(sent)
    expect(sent.find(({ name }) => name === 'rules')).toMatchObject({ rows: 120 })
    const stores = [openSqliteStore(path), await openPostgresStore(url), openSqliteStore(back)]
    const answers: unknown[] = []
    for (const store of stores) answers.push(await answersOf(store, filled))
    expect(answers[0]).toMatchObject({ statuses: [200, 200, 200, 200, 200, 200] })
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
    for (const store of stores)
      expect(await store.read((reader) => verifyHistory(reader, 'acme'))).toMatchObject({
        intact: true,
        removed_through: expect.any(Number),
      })
    for (const store of stores.slice(1)) {
      const { send } = await serve(store)
      const rule = {
        name: 'next',
        actions: ['connect:tcp'],
        decision: 'deny',
        resources: ['x.example'],
      }
      const rules = `${POLICIES}/${filled.policy}/rules`
      const response = await send('POST', rules, filled.token, rule)
      expect(response.statusCode, response.body).toBe(201)
      const policy = await send('GET', `${POLICIES}/${filled.policy}`, filled.token)
      expect(policy.json().allowlist_v0.rules.at(-1)).toMatchObject({ name: 'next' })
    }
    for (const store of stores) await store.close()
  })

  it('by the command prints a report, and refuses a store in use', async () => {
    const path = newPath()
    const store = openSqliteStore(path)
    await createAcme(store)
    await store.close()
    const { url } = await testDatabase()
    const settings = { DATABASE_URL: url, PALISADE_DATA_DIR: join(path, '..') }
    const copy = (...args: string[]) => runServerCommand(['copy', ...args], settings)

    const first = await copy('--from', 'sqlite', '--to', 'postgres', '--json')
    const again = await copy('--from', path, '--to', 'postgres')

    expect(first.stderr).toBe('')
    expect(JSON.parse(first.stdout)).toMatchObject({ from: path, rows: expect.any(Number) })
    expect(again).toMatchObject({ status: 1, stdout: '' })
    expect(again.stderr).toContain('is in use already (it has organizations)')
    const nothing = await copy('--from', `${path}.absent`, '--to', `${path}.new`)
    expect(nothing).toMatchObject({ status: 1 })
    expect(nothing.stderr).toContain('there is no database')
  })

  it('covers every table of the schema', async () => {
    const { administer } = await testDatabase()
    const rows = await administer<{ tablename: string }>(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    )

    expect(rows.map(({ tablename }) => tablename).toSorted()).toEqual(
      [...TABLES.map(({ name }) => name), 'palisade_store'].toSorted(),
    )
  })
})

it('refuses a source that is not an ordinary file, instead of waiting for it', async () => {
  const directory = temporaryDirectory()
  const pipe = join(directory, 'pipe')
  execFileSync('mkfifo', [pipe])

  for (const from of [pipe, directory, '/dev/null'])
    await expect(
      copyStore(createSqliteEndpoint(from), createSqliteEndpoint(newPath()), silent),
    ).rejects.toThrow('is not an ordinary file')
})

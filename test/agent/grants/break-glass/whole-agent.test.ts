import { createDeviceKey, createProver } from '@palisade/client'
import { agentStatusSchema, enrolmentSchema, type BreakGlassResult } from '@palisade/protocol'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Agent } from '../../../../agent/src/agent.ts'
import { readConfig } from '../../../../agent/src/host/config/config.ts'
import { createContainer } from '../../../../agent/src/container.ts'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import { openOwner } from '../../../server/owner.ts'
import { sendEnrolment } from '../../../server/test-device.ts'
import { openTestServer } from '../../../server/test-server.ts'
import { askAgent } from '../../fixture/local-request.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A busy machine takes longer than the default second. */
const PATIENCE = { timeout: 300_000 }

/** A real server with a policy, and a machine of it that can be restarted. */
async function openMachine() {
  const test = await openTestServer()
  // tuf-js reads the clock of the process.
  vi.useFakeTimers({ toFake: ['Date'], now: test.now() })
  onTestFinished(() => void vi.useRealTimers())
  const { as } = await openOwner(test, 'acme', 'alice')
  const server = await test.server.app.listen({ host: '127.0.0.1', port: 0 })
  const policies = '/v2/orgs/acme/governance/policies'
  const made = await test.send('POST', policies, { as, payload: { name: 'data' } })
  for (const [decision, path] of [
    ['allow', '/data/**'],
    ['deny', '/data/secret'],
  ])
    await test.send('POST', `${policies}/${made.json<{ id: string }>().id}/rules`, {
      as,
      payload: { name: path, actions: ['read'], decision, resources: [path] },
    })
  const key = createDeviceKey()
  const enrolled = await sendEnrolment(test, as, 'acme', {}, createProver(key, test.now))
  const enrolment = { ...enrolmentSchema.parse(enrolled.json()), server }
  const url = `/api/v1/orgs/acme/devices/${enrolment.device_id}/break-glass`

  const directory = await temporaryDirectory()
  await mkdir(join(directory, 'agent'), { mode: 0o700 })
  const config = readConfig({ PALISADE_DATA_DIR: directory, PALISADE_PROXY_PORT: '0' }, '/')
  const lines: string[] = []
  const warn = (_line: unknown, text = ''): void => void lines.push(text)
  const world = { isAway: false, uptimeMs: 0 }
  const fetch = createHttpFetch()
  let agent: Agent | null = null
  onTestFinished(() => agent?.stop())

  const ask = (method: string, path: string, body?: string) =>
    askAgent(config.socketPath, method, path, body)

  return {
    test,
    world,
    lines,
    ask,
    id: enrolment.device_id,
    pass(ms: number) {
      test.advance(ms)
      world.uptimeMs += ms
      vi.setSystemTime(test.now())
    },
    async issue(payload: object) {
      const issued = await test.send('POST', url, { as, payload })
      expect(issued.statusCode, issued.body).toBe(201)
      return issued.body
    },
    async start() {
      await agent?.stop()
      ;({ agent } = createContainer({
        config,
        parentAccess: null,
        enrolment,
        key,
        localPolicies: [],
        localDenies: [],
        home: null,
        version: '0.0.0',
        log: { error: warn, warn, info: () => {}, debug: () => {} },
        clock: test.now,
        uptime: () => world.uptimeMs,
        random: () => 0.5,
        fetch: (...asked) => {
          if (world.isAway) return Promise.reject(new TypeError('fetch failed'))
          return fetch(...asked)
        },
        machineAddresses: () => [],
        onError: (error) => warn(error, 'unexpected error'),
        maxConnections: 64,
      }))
      await agent.start()
      await ask('POST', '/v1/sync')
    },
    async enforced() {
      const { state } = agentStatusSchema.parse((await ask('GET', '/v1/status')).body)
      const decide = async (path: string) => {
        const body = JSON.stringify({ action: 'read', path })
        return (await ask('POST', '/v1/decide', body)).body as { decision: string }
      }
      const decided = [await decide('/data/x'), await decide('/data/secret')]
      return [state, ...decided.map(({ decision }) => decision)].join(' ')
    },
    async use(grant: string) {
      const { body } = await ask('POST', '/v1/break-glass', grant)
      const { outcome, error } = body as BreakGlassResult
      return error?.code ?? outcome
    },
  }
}

it('a grant is begun once, shown everywhere, continues after a restart, and ends', async () => {
  const machine = await openMachine()
  const { world, lines, test, id } = machine
  const month = {
    reason: 'the office is offline',
    duration_seconds: 3600,
    use_within_seconds: 2_592_000,
  }
  const grant = await machine.issue(month)
  await machine.start()
  world.isAway = true
  machine.pass(8 * DAY_MS)
  await machine.ask('POST', '/v1/sync')
  expect(await machine.enforced()).toBe('expired deny deny')

  expect(await machine.use(grant)).toBe('begun')

  expect(await machine.enforced()).toBe('break_glass allow deny')
  expect((await machine.ask('GET', '/v1/status')).body).toMatchObject({
    state: 'break_glass',
    break_glass: {
      reason: 'the office is offline',
      issued_by: 'user:alice',
      begun_at: '2026-11-29T08:00:00Z',
      until: '2026-11-29T09:00:00Z',
    },
  })
  expect(lines).toContain('break-glass: a grant is in force')
  const body = JSON.stringify({ action: 'read', path: '/data/x' })
  expect((await machine.ask('POST', '/v1/decide', body)).body).toMatchObject({ break_glass: true })

  machine.pass(HOUR_MS / 2)
  await machine.start()
  expect(await machine.enforced()).toBe('break_glass allow deny')
  expect(await machine.use(grant)).toBe('already_in_force')

  // Once reached, the server learns of the grant. Its policies make the grant needless but do not
  // undo it.
  world.isAway = false
  await machine.ask('POST', '/v1/sync')
  // A session of the first day has expired by now.
  const session = await test.signIn(
    'alice',
    (await test.createOrganization('second', 'alice')).personal_token,
  )
  const list = `/api/v1/orgs/acme/devices/${id}/break-glass`
  await expect
    .poll(async () => (await test.send('GET', list, { as: session })).json(), PATIENCE)
    .toMatchObject({ data: [{ begun_at: '2026-11-29T08:00:00Z' }] })
  const fleet = await test.send('GET', '/api/v1/orgs/acme/devices', { as: session })
  expect(fleet.json()).toMatchObject({ data: [{ state: 'break_glass', break_glass: {} }] })

  expect((await machine.ask('POST', '/v1/break-glass/end')).body).toMatchObject({
    outcome: 'ended',
  })
  expect(await machine.enforced()).toBe('fresh allow deny')
  world.isAway = true
  machine.pass(8 * DAY_MS)
  expect(await machine.enforced()).toBe('expired deny deny')
  expect(await machine.use(grant)).toBe('already_used')
  await machine.start()
  expect(await machine.use(grant)).toBe('already_used')
  expect(await machine.enforced()).toBe('expired deny deny')
})

import { createAgentClient, type AgentClient } from '@palisade/client'
import type { CreatedEnrolmentToken } from '@palisade/protocol'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { readConfig } from '../../agent/src/config/config.ts'
import { readDeviceKey, readEnrolment } from '../../agent/src/config/read-enrolment.ts'
import { createContainer } from '../../agent/src/container.ts'
import { ensureEnrolled } from '../../agent/src/enrol/ensure-enrolled.ts'
import { createHttpFetch } from '../../agent/src/sync/transport/fetch-over-http.ts'
import { openOwner } from '../server/owner.ts'
import { openTestServer } from '../server/test-server.ts'
import { exchangeRaw, get, startOrigin } from './fixture/proxy.ts'
import { never } from './fixture/sync-scene.ts'
import { temporaryDirectory } from './fixture/temporary-directory.ts'

const POLICIES = '/v2/orgs/acme/governance/policies'
/** Later than the end of the test, so only a demand of the test fetches policies. */
const ONCE_A_YEAR = '0 0 1 1 *'

/** The whole server on a loopback port, with a signed-in owner. */
async function startServer() {
  const test = await openTestServer()
  // tuf-js reads the clock of the process.
  vi.useFakeTimers({ toFake: ['Date'], now: test.now() })
  onTestFinished(() => void vi.useRealTimers())
  const { as } = await openOwner(test, 'acme', 'alice')
  await test.server.app.listen({ host: '127.0.0.1', port: 0 })
  return {
    clock: test.now,
    async post<T>(url: string, payload: object): Promise<T> {
      const answer = await test.send('POST', url, { as, payload })
      expect(answer.statusCode, answer.body).toBe(201)
      return answer.json<T>()
    },
    async delete(url: string) {
      const answer = await test.send('DELETE', url, { as })
      expect(answer.statusCode, answer.body).toBe(200)
    },
    async devices() {
      const answer = await test.send('GET', '/api/v1/orgs/acme/devices', { as })
      return answer.json<{ data: readonly { id: string }[] }>().data
    },
  }
}

/** The whole agent of a machine that enrols itself over HTTP with a token. */
async function startMachine(token: string, clock: () => number): Promise<AgentClient> {
  const directory = await temporaryDirectory()
  const tokenFile = join(directory, 'token')
  await writeFile(tokenFile, token, { mode: 0o600 })
  const settings = {
    PALISADE_DATA_DIR: directory,
    PALISADE_ENROLMENT_TOKEN: tokenFile,
    PALISADE_PROXY_PORT: '0',
    PALISADE_SYNC_SCHEDULE: ONCE_A_YEAR,
  }
  const config = readConfig(settings, '/')
  const world = {
    log: { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} },
    fetch: createHttpFetch(),
    random: () => 0.5,
    clock,
  }
  expect(await ensureEnrolled(config, { ...world, hostName: 'laptop' }, never)).toBe(true)
  const { agent } = createContainer({
    ...world,
    config,
    parentAccess: null,
    enrolment: await readEnrolment(config.enrolmentPath),
    key: await readDeviceKey(config.enrolmentPath),
    localPolicies: [],
    localDenies: [],
    home: null,
    version: '0.0.0',
    uptime: () => 0,
    machineAddresses: () => [],
    maxConnections: 64,
  })
  await agent.start()
  onTestFinished(() => agent.stop())
  return createAgentClient({ socketPath: config.socketPath })
}

it('a program reaches through the proxy exactly the origins that the server allows', async () => {
  const server = await startServer()
  const [one, other] = [await startOrigin(), await startOrigin()]
  const policy = await server.post<{ id: string }>(POLICIES, { name: 'web' })
  const rules = `${POLICIES}/${policy.id}/rules`
  const allow = (resource: string) =>
    server.post<{ id: string }>(rules, {
      name: resource,
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: [resource],
    })
  const first = await allow(`127.0.0.1:${one.port}`)
  const { token } = await server.post<CreatedEnrolmentToken>('/api/v1/orgs/acme/enrolment-tokens', {
    name: 'laptops',
    max_uses: 1,
    expires_in_days: 1,
  })

  const agent = await startMachine(token, server.clock)
  const port = Number(new URL((await agent.status()).proxy).port)
  const request = async ({ port: origin }: { port: number }) =>
    (await exchangeRaw(port, get(`127.0.0.1:${origin}`, '/package.json'))).status
  const reached = () => [one, other].map(({ requests }) => requests.map(({ url }) => url))

  expect(await agent.sync()).toMatchObject({ error: null, in_force: { state: 'fresh' } })
  expect([await request(one), await request(other)]).toEqual([200, 403])
  expect(reached()).toEqual([['/package.json'], []])

  await allow(`127.0.0.1:${other.port}`)
  await server.delete(`${rules}/${first.id}`)
  expect(await agent.sync()).toMatchObject({ error: null, in_force: { state: 'fresh' } })
  expect([await request(one), await request(other)]).toEqual([403, 200])
  expect(reached()).toEqual([['/package.json'], ['/package.json']])

  const records = []
  for await (const line of agent.log())
    if ('decision' in line) records.push([line.decision.request, line.decision.decision])
  const about = ({ port: origin }: { port: number }) =>
    expect.objectContaining({ host: '127.0.0.1', port: origin })
  expect(records).toEqual([
    [about(one), 'allow'],
    [about(other), 'deny'],
    [about(one), 'deny'],
    [about(other), 'allow'],
  ])
  await expect.poll(server.devices).toMatchObject([{ state: 'fresh', name: 'laptop' }])
})

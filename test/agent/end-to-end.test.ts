import type { AgentClient } from '@palisade/client'
import type { CreatedEnrolmentToken } from '@palisade/protocol'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ensureEnrolled } from '../../agent/src/sync/enrol/ensure-enrolled.ts'
import { openOwner } from '../server/owner.ts'
import { openTestServer } from '../server/test-server.ts'
import { exchangeRaw, get, startOrigin } from './fixture/proxy.ts'
import { never } from './fixture/sync-scene.ts'
import { temporaryDirectory } from './fixture/temporary-directory.ts'
import { configOf, startWholeAgent, worldAt } from './fixture/whole-agent.ts'

const POLICIES = '/v2/orgs/acme/governance/policies'

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
  const config = configOf(directory, { PALISADE_ENROLMENT_TOKEN: tokenFile })
  const world = { ...worldAt(clock), hostName: 'laptop' }
  expect(await ensureEnrolled(config, world, never)).toBe(true)
  return (await startWholeAgent(directory, clock)).client
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

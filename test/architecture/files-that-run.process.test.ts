import type { CreatedEnrolmentToken } from '@palisade/protocol'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { ensureEnrolled } from '../../agent/src/sync/enrol/ensure-enrolled.ts'
import { startOrigin } from '../agent/fixture/proxy.ts'
import { never } from '../agent/fixture/sync-scene.ts'
import { temporaryDirectory } from '../agent/fixture/temporary-directory.ts'
import { configOf, startWholeAgent, worldAt } from '../agent/fixture/whole-agent.ts'
import { openAccessScene, WANTED } from '../server/fleet/access/access-scene.ts'
import { openOwner } from '../server/owner.ts'
import { startBundle } from '../server/started-thread.ts'
import { TEST_ORIGIN } from '../server/test-device.ts'
import { openTestServer } from '../server/test-server.ts'
import { filesThatRun } from './files-that-run.ts'

/**
 * The most sources that an operation runs through. Whoever changes it has to know them, so a bound
 * is raised only with a reason in the commit. The aims are 80 for a rule, 120 for a poll, 80 for a
 * connection.
 */
const MOST = { ruleCreate: 93, get: 40, approval: 91, poll: 132, connect: 88 } as const

const SERVER = ['server/src/', 'packages/']
const AGENT = ['agent/src/', 'packages/']

/** Fails with the sources of an operation that exceeds its bound. */
function expectFew(files: readonly string[], most: number): void {
  expect.soft(files.length, files.join('\n')).toBeLessThanOrEqual(most)
  expect.soft(files.length).toBeGreaterThan(most / 2)
}

it('few sources run for a request to the server', async () => {
  const test = await openTestServer(onTestFinished, {
    settings: { PALISADE_PUBLIC_URL: TEST_ORIGIN },
    // What a thread does is not part of an operation.
    startWorker: startBundle,
  })
  const scene = await openAccessScene(test)
  const { as } = scene.owner
  const policy = await scene.post(scene.paths.policies, as, { name: 'web' })
  const rules = `${scene.paths.policies}/${policy.json<{ id: string }>().id}/rules`
  const createRule = async (name: string) => {
    const rule = { name, actions: ['connect:tcp'], decision: 'allow', resources: [name] }
    expect((await scene.post(rules, as, rule)).statusCode).toBe(201)
  }
  const list = async () =>
    expect((await test.send('GET', `${scene.paths.org}/members`, { as })).statusCode).toBe(200)
  // What runs once, such as building a schema, belongs to no operation.
  await createRule('a.example.com')
  await list()
  await scene.approve(await scene.ask())
  const asked: string[] = []
  for (const host of ['a', 'b', 'c'])
    asked.push(await scene.ask({ ...WANTED, resources: [`${host}.example.net:443`] }))

  const created = await filesThatRun(SERVER, (round) => createRule(`r${round}.example.com`))
  expectFew(created, MOST.ruleCreate)
  expectFew(await filesThatRun(SERVER, list), MOST.get)
  const approved = await filesThatRun(SERVER, (round) => scene.approve(asked[round] ?? ''))
  expectFew(approved, MOST.approval)
})

it('few sources run for a poll of the agent, and for a connection', async () => {
  const test = await openTestServer(onTestFinished)
  // tuf-js reads the clock of the process.
  vi.useFakeTimers({ toFake: ['Date'], now: test.now() })
  onTestFinished(() => void vi.useRealTimers())
  const { as } = await openOwner(test, 'acme', 'alice')
  await test.server.app.listen({ host: '127.0.0.1', port: 0 })
  const post = async <T>(url: string, payload: object): Promise<T> => {
    const answer = await test.send('POST', url, { as, payload })
    expect(answer.statusCode, answer.body).toBe(201)
    return answer.json<T>()
  }
  const origin = await startOrigin()
  const policies = '/v2/orgs/acme/governance/policies'
  const { id } = await post<{ id: string }>(policies, { name: 'web' })
  const allow = (resource: string) =>
    post(`${policies}/${id}/rules`, {
      name: resource,
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: [resource],
    })
  await allow(`127.0.0.1:${origin.port}`)
  const tokens = '/api/v1/orgs/acme/enrolment-tokens'
  const asked = { name: 'laptops', max_uses: 1, expires_in_days: 1 }
  const { token } = await post<CreatedEnrolmentToken>(tokens, asked)
  const directory = await temporaryDirectory()
  const tokenFile = join(directory, 'token')
  await writeFile(tokenFile, token, { mode: 0o600 })
  const config = configOf(directory, { PALISADE_ENROLMENT_TOKEN: tokenFile })
  expect(await ensureEnrolled(config, { ...worldAt(test.now), hostName: 'laptop' }, never)).toBe(
    true,
  )
  const { client } = await startWholeAgent(directory, test.now)
  const port = Number(new URL((await client.status()).proxy).port)
  const tunnel = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').setEncoding('utf8').once('error', reject)
      socket.write(`CONNECT 127.0.0.1:${origin.port} HTTP/1.1\r\nHost: x\r\n\r\n`)
      socket.once('data', (text: string) => {
        socket.destroy()
        if (text.startsWith('HTTP/1.1 200 ')) resolve()
        else reject(new Error(text))
      })
    })
  const sync = async () => expect(await client.sync()).toMatchObject({ error: null })
  await sync()
  await tunnel()

  const changed = await filesThatRun(AGENT, async (round) => {
    await allow(`r${round}.example.com`)
    await sync()
  })
  expectFew(changed, MOST.poll)
  expectFew(await filesThatRun(AGENT, tunnel), MOST.connect)
})

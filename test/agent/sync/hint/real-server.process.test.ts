import { agentStatusSchema } from '@palisade/protocol'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BUILT_AGENT } from '../../../built-programs.ts'
import { runServerCommand, startServerProcess } from '../../../server/server-process.ts'
import { askAgent } from '../../fixture/local-request.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const PATIENCE = { timeout: 300_000, interval: 20 }
/** Later than the end of each test, so every change arrives by a hint. */
const ONCE_A_YEAR = '0 0 1 1 *'

it('a change on a real server reaches a running agent long before the next poll', async () => {
  const directory = await temporaryDirectory()
  const settings = { PALISADE_DATA_DIR: join(directory, 'server') }
  const made = await runServerCommand(
    ['init', '--org', 'acme', '--owner', 'alice', '--json'],
    settings,
  )
  const { personal_token } = JSON.parse(made.stdout) as { personal_token: string }
  const server = await startServerProcess(settings)
  const dataDir = join(directory, 'agent')
  const out = join(dataDir, 'agent', 'enrolment.json')
  const enrolled = await runServerCommand(
    ['device', 'enrol', '--org', 'acme', '--server', server.url, '--out', out],
    settings,
  )
  expect(enrolled.stderr).toBe('')
  const agent = spawn(process.execPath, [...BUILT_AGENT, 'start'], {
    env: {
      PALISADE_DATA_DIR: dataDir,
      PALISADE_PROXY_PORT: '0',
      PALISADE_SYNC_SCHEDULE: ONCE_A_YEAR,
    },
    stdio: 'ignore',
  })
  onTestFinished(() => void agent.kill('SIGKILL'))
  const socketPath = join(dataDir, 'agent', 'agent.sock')
  const readStatus = async () => {
    const answer = await askAgent(socketPath, 'GET', '/v1/status').catch(() => null)
    return answer === null ? null : agentStatusSchema.parse(answer.body)
  }
  const post = async (path: string, body: object, token?: string): Promise<object> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: JSON.stringify(body),
    })
    expect(answer.ok, await answer.clone().text()).toBe(true)
    return (await answer.json()) as object
  }
  const decide = async (host: string) => {
    const request = JSON.stringify({ action: 'connect:tcp', host, port: 443 })
    const { body } = await askAgent(socketPath, 'POST', '/v1/decide', request)
    return (body as { decision: string }).decision
  }
  await expect.poll(async () => (await readStatus())?.state, PATIENCE).toBe('fresh')
  const token = await post('/v2/auth/token', { username: 'alice', password: personal_token })
  const { access_token: alice } = token as { access_token: string }
  const policies = '/v2/orgs/acme/governance/policies'
  const policy = await post(policies, { name: 'web', scope: {} }, alice)
  const { id } = policy as { id: string }

  for (const host of ['one.example.com', 'two.example.com']) {
    expect(await decide(host)).toBe('deny')
    const rule = { name: host, actions: ['connect:tcp'], decision: 'allow', resources: [host] }
    await post(`${policies}/${id}/rules`, rule, alice)
    await expect.poll(() => decide(host), PATIENCE).toBe('allow')
  }
  const waiting = async () =>
    /\{queue="hints"\} 1$/m.test(await (await fetch(`${server.url}/metrics`)).text())
  await expect.poll(waiting, PATIENCE).toBe(true)
  expect(await readStatus()).toMatchObject({
    state: 'fresh',
    hints: { is_on: true, failing_since: null, last_error: null },
  })

  // Neither waits for the other, although a request is open between them.
  expect((await server.stop('SIGTERM')).status).toBe(0)
  await expect.poll(async () => (await readStatus())?.hints.failing_since, PATIENCE).not.toBeNull()
  agent.kill('SIGTERM')
  expect(await once(agent, 'exit')).toEqual([0, null])
})

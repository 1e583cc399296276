import { accessRequestSchema, agentStatusSchema, localAccessResultSchema } from '@palisade/protocol'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BUILT_AGENT } from '../../../built-programs.ts'
import { runServerCommand, startServerProcess } from '../../../server/server-process.ts'
import { askAgent } from '../../fixture/local-request.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const PATIENCE = { timeout: 300_000, interval: 20 }
/** Later than the end of the test, so every change arrives by a hint. */
const ONCE_A_YEAR = '0 0 1 1 *'

it('a denied program gets access when its request is approved, until it is revoked', async () => {
  const directory = await temporaryDirectory()
  const { server, dataDir, signIn } = await startServerWithMachine(directory)
  const agent = startAgent(dataDir)
  const machine = connectTo(dataDir)
  await expect.poll(machine.state, PATIENCE).toBe('fresh')
  const alice = await signIn()
  const denied = 'closed.example.com'
  const deny = { name: 'deny', actions: ['connect:tcp'], decision: 'deny', resources: [denied] }
  const { id: policy } = await alice('/v2/orgs/acme/governance/policies', { name: 'w', scope: {} })
  await alice(`/v2/orgs/acme/governance/policies/${String(policy)}/rules`, deny)
  await expect.poll(() => machine.reason(denied), PATIENCE).toBe('rule')

  expect(await machine.reason('registry.example.com')).toBe('default_deny')
  const request = await machine.ask(['*.example.com:443'])
  expect(request).toMatchObject({ state: 'pending', username: 'alice' })
  expect(await machine.decide('registry.example.com')).toBe('deny')

  const path = `/api/v1/orgs/acme/access-requests/${request.id}`
  const approved = await alice(`${path}/approve`, { duration_seconds: 1800 })
  expect(approved).toMatchObject({ state: 'approved', decided_by: 'user:alice' })
  await expect.poll(() => machine.decide('registry.example.com'), PATIENCE).toBe('allow')
  expect(await machine.grants()).toMatchObject([{ id: request.id, state: 'in_force' }])
  // A deny stays above the grant that covers it, and so does the end of the granted names.
  expect(await machine.decide(denied)).toBe('deny')
  expect(await machine.decide('registry.example.org')).toBe('deny')

  await alice(`${path}/revoke`, { answer: 'the build is done' })
  await expect.poll(() => machine.decide('registry.example.com'), PATIENCE).toBe('deny')
  expect(await machine.grants()).toMatchObject([{ id: request.id, state: 'revoked' }])

  const second = await machine.ask(['second.example.com:443'])
  const secondPath = `/api/v1/orgs/acme/access-requests/${second.id}`
  await alice(`${secondPath}/approve`, {})
  await expect.poll(() => machine.decide('second.example.com'), PATIENCE).toBe('allow')
  // The machine is offline from here on: a restart keeps the grant, and not the revoked one.
  expect((await server.stop('SIGTERM')).status).toBe(0)
  agent.kill('SIGKILL')
  await once(agent, 'exit')
  startAgent(dataDir)
  await expect.poll(() => machine.decide('second.example.com'), PATIENCE).toBe('allow')
  expect(await machine.decide('registry.example.com')).toBe('deny')
})

async function startServerWithMachine(directory: string) {
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
    ['device', 'enrol', '--org', 'acme', '--user', 'alice', '--server', server.url, '--out', out],
    settings,
  )
  expect(enrolled.stderr).toBe('')
  const post = async (path: string, body: object, token = ''): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    })
    expect(answer.ok, await answer.clone().text()).toBe(true)
    return (await answer.json()) as Record<string, unknown>
  }
  const signIn = async () => {
    const credentials = { username: 'alice', password: personal_token }
    const { access_token } = await post('/v2/auth/token', credentials)
    return async (path: string, body: object) => post(path, body, String(access_token))
  }
  return { server, dataDir, signIn }
}

function startAgent(dataDir: string): ChildProcess {
  const agent = spawn(process.execPath, [...BUILT_AGENT, 'start'], {
    env: {
      PALISADE_DATA_DIR: dataDir,
      PALISADE_PROXY_PORT: '0',
      PALISADE_SYNC_SCHEDULE: ONCE_A_YEAR,
    },
    stdio: 'ignore',
  })
  onTestFinished(() => void agent.kill('SIGKILL'))
  return agent
}

/** The local API of the agent, also while it starts. */
function connectTo(dataDir: string) {
  const socketPath = join(dataDir, 'agent', 'agent.sock')
  const readStatus = async () => {
    const answer = await askAgent(socketPath, 'GET', '/v1/status').catch(() => null)
    return answer === null ? null : agentStatusSchema.parse(answer.body)
  }
  const answerOf = async (host: string) => {
    const request = JSON.stringify({ action: 'connect:tcp', host, port: 443 })
    const answer = await askAgent(socketPath, 'POST', '/v1/decide', request).catch(() => null)
    return answer?.body as { decision: string; reason: string } | undefined
  }
  return {
    state: async () => (await readStatus())?.state,
    grants: async () => (await readStatus())?.grants,
    decide: async (host: string) => (await answerOf(host))?.decision,
    reason: async (host: string) => (await answerOf(host))?.reason,
    async ask(resources: readonly string[]) {
      const wanted = { action: 'connect:tcp', duration_seconds: 3600, reason: 'release' }
      const body = JSON.stringify({ ...wanted, resources })
      const answer = await askAgent(socketPath, 'POST', '/v1/access-requests', body)
      const { error, request } = localAccessResultSchema.parse(answer.body)
      expect(error).toBe(null)
      return accessRequestSchema.parse(request)
    },
  }
}

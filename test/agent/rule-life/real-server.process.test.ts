import { agentStatusSchema } from '@palisade/protocol'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BUILT_AGENT } from '../../built-programs.ts'
import { runServerCommand, startServerProcess } from '../../server/server-process.ts'
import { askAgent } from '../fixture/local-request.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

const PATIENCE = { timeout: 300_000, interval: 20 }
const API = '/api/v1/orgs/acme'
const ADDRESS = '93.184.216.34'
/** Long enough for the rule to arrive at a busy machine. */
const EXPIRES_AFTER_MS = 30_000

it('observing, shadow policies and expiry of a real server reach a running agent', async () => {
  const directory = await temporaryDirectory()
  const settings = { PALISADE_DATA_DIR: join(directory, 'server') }
  const init = ['init', '--org', 'acme', '--owner', 'alice', '--json']
  const made = await runServerCommand(init, settings)
  const { personal_token } = JSON.parse(made.stdout) as { personal_token: string }
  const server = await startServerProcess(settings)
  const dataDir = join(directory, 'agent')
  const out = join(dataDir, 'agent', 'enrolment.json')
  const enrol = ['device', 'enrol', '--org', 'acme', '--server', server.url, '--out', out]
  expect((await runServerCommand(enrol, settings)).stderr).toBe('')
  const agent = spawn(process.execPath, [...BUILT_AGENT, 'start'], {
    env: { PALISADE_DATA_DIR: dataDir, PALISADE_PROXY_PORT: '0' },
    stdio: 'ignore',
  })
  onTestFinished(() => void agent.kill('SIGKILL'))
  const socketPath = join(dataDir, 'agent', 'agent.sock')
  const send = async (method: string, path: string, body: object, token = '') => {
    const answer = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    })
    expect(answer.ok, await answer.clone().text()).toBe(true)
    return (await answer.json()) as { id: string; access_token: string }
  }
  const { access_token: alice } = await send('POST', '/v2/auth/token', {
    username: 'alice',
    password: personal_token,
  })
  const readStatus = async () => {
    const answer = await askAgent(socketPath, 'GET', '/v1/status').catch(() => null)
    return answer === null ? null : agentStatusSchema.parse(answer.body)
  }
  const decide = async (host: string) => {
    const request = { action: 'connect:tcp', host, port: 443, address: ADDRESS }
    const { body } = await askAgent(socketPath, 'POST', '/v1/decide', JSON.stringify(request))
    const { decision, reason, shadow } = body as Record<string, string> & {
      shadow?: { decision: string }
    }
    return [decision, reason, ...(shadow === undefined ? [] : [`shadow ${shadow.decision}`])]
  }
  const rule = (host: string, members: object) => ({
    name: host,
    actions: ['connect:tcp'],
    resources: [host],
    ...members,
  })
  await expect.poll(async () => (await readStatus())?.state, PATIENCE).toBe('fresh')
  expect(await decide('a.example')).toEqual(['deny', 'default_deny'])

  await send('PATCH', API, { default: 'observe' }, alice)
  await expect.poll(() => decide('a.example'), PATIENCE).toEqual(['allow', 'observed'])
  const trial = await send('POST', `${API}/policies`, { name: 'trial', mode: 'shadow' }, alice)
  const deny = rule('a.example', { decision: 'deny' })
  await send('POST', `${API}/policies/${trial.id}/rules`, deny, alice)
  await expect
    .poll(() => decide('a.example'), PATIENCE)
    .toEqual(['allow', 'observed', 'shadow deny'])
  await send('PATCH', `${API}/policies/${trial.id}`, { mode: 'enforce' }, alice)
  await expect.poll(() => decide('a.example'), PATIENCE).toEqual(['deny', 'rule'])
  expect(await decide('b.example')).toEqual(['allow', 'observed'])
  await send('PATCH', API, { default: null }, alice)
  await expect.poll(() => decide('b.example'), PATIENCE).toEqual(['deny', 'default_deny'])

  const expires_at = new Date(Date.now() + EXPIRES_AFTER_MS).toISOString()
  const allow = rule('b.example', { decision: 'allow', expires_at })
  await send('POST', `${API}/policies/${trial.id}/rules`, allow, alice)
  await expect.poll(() => decide('b.example'), PATIENCE).toEqual(['allow', 'rule'])
  expect((await server.stop('SIGTERM')).status).toBe(0)
  await expect.poll(() => decide('b.example'), PATIENCE).toEqual(['deny', 'default_deny'])
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at))
})

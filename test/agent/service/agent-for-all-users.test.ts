import { createDeviceKey } from '@palisade/client'
import { agentStatusSchema } from '@palisade/protocol'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BUILT_AGENT, BUILT_CLI } from '../../built-programs.ts'
import { askAgent } from '../fixture/local-request.ts'
import { startPolicyServer } from '../fixture/policy-server.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { createRepository, rulesOf, serve } from '../fixture/view-repository.ts'

const run = promisify(execFile)
const OTHER_USER = ['--reuid', '65534', '--regid', '65534', '--clear-groups', '--'] as const
/** As in the unit of the system service. */
const CAPABILITIES = '-all,+sys_ptrace,+dac_read_search'

/** An agent as the system service starts it, with a policy in force. */
async function startShared() {
  const server = await startPolicyServer()
  const repository = createRepository(server.url, { nowMs: Date.now() })
  const rules = rulesOf(['allow', 'connect:tcp', 'good.test'])
  server.answer = serve(repository.release({ ...rules, revision: 7, atMs: Date.now() }))
  const folder = await temporaryDirectory()
  await chmod(folder, 0o755)
  const dataDir = join(folder, 'state')
  await mkdir(join(dataDir, 'agent'), { recursive: true, mode: 0o700 })
  const enrolment = join(dataDir, 'agent', 'enrolment.json')
  await writeFile(`${enrolment}.key`, JSON.stringify(createDeviceKey()), { mode: 0o600 })
  await writeFile(enrolment, JSON.stringify(repository.enrolment), { mode: 0o600 })
  const socketPath = join(folder, 'run', 'agent.sock')
  const bounds = ['--no-new-privs', '--bounding-set', CAPABILITIES, '--']
  const child = spawn('setpriv', [...bounds, process.execPath, ...BUILT_AGENT, 'start'], {
    cwd: '/',
    env: {
      PATH: process.env['PATH'],
      PALISADE_DATA_DIR: dataDir,
      PALISADE_AGENT_SOCKET: socketPath,
      PALISADE_USERS: 'all',
      PALISADE_PROXY_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  child.stdout.resume()
  const readStatus = async () => {
    const answer = await askAgent(socketPath, 'GET', '/v1/status').catch(() => null)
    return answer === null ? null : agentStatusSchema.parse(answer.body)
  }
  await expect
    .poll(readStatus, { timeout: 300_000, interval: 50 })
    .toMatchObject({ state: 'fresh', users: 'all', probes: { proxy: { ok: true } } })
  return { dataDir, enrolment, socketPath, readStatus }
}

/** Runs a program as another user; resolves to its exit code and output. */
async function asOther(words: readonly string[], socketPath: string) {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', PALISADE_AGENT_SOCKET: socketPath }
  try {
    const { stdout } = await run('setpriv', [...OTHER_USER, ...words], { cwd: '/', env })
    return { code: 0, stdout, stderr: '' }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

const ask = (socketPath: string, method: string, path: string) =>
  asOther(
    ['curl', '-s', '--unix-socket', socketPath, '-X', method, '-d', '{}', `http://a${path}`],
    socketPath,
  )

describe('an agent that serves all users', () => {
  it('answers another user, who can change nothing and make no sandbox', async () => {
    const { socketPath } = await startShared()

    const status = await ask(socketPath, 'GET', '/v1/status')
    expect(JSON.parse(status.stdout)).toMatchObject({ state: 'fresh', users: 'all' })
    const connect = ['check', 'connect:tcp', 'good.test:443', '--address', '192.0.2.1']
    const checked = await asOther([process.execPath, ...BUILT_CLI, ...connect], socketPath)
    expect(checked.stdout + checked.stderr).toContain('good.test')
    for (const path of ['/v1/sync', '/v1/local-rules', '/v1/break-glass/end'])
      expect((await ask(socketPath, 'POST', path)).stdout, path).toContain('permission_denied')
    expect((await ask(socketPath, 'GET', '/v1/log')).stdout).toContain('permission_denied')
    expect((await ask(socketPath, 'POST', '/v1/sandboxes')).stdout).toContain('makes no sandboxes')

    expect((await askAgent(socketPath, 'POST', '/v1/sync')).status).toBe(200)
  })

  it('keeps its key and its cached policies out of reach of that user', async () => {
    const { dataDir, enrolment, socketPath } = await startShared()

    for (const path of [dataDir, join(dataDir, 'agent'), `${enrolment}.key`]) {
      const read = await asOther(['sh', '-c', 'cat "$0" || ls "$0"', path], socketPath)
      expect(read.stdout, path).toBe('')
      expect(read.stderr, path).toContain('Permission denied')
    }
    const removed = await asOther(['rm', '-f', socketPath], socketPath)
    expect(removed.code).not.toBe(0)
  })

  it('is shown as proxy-only, because it makes no sandboxes', async () => {
    const { socketPath, readStatus } = await startShared()

    expect((await readStatus())?.assurance).toEqual({
      class: 'proxy-only',
      reason: 'an agent for all users makes no sandboxes',
    })
    const shown = await asOther([process.execPath, ...BUILT_CLI, 'status'], socketPath)
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(/\nassurance +proxy-only: an agent for all users/)
  })
})

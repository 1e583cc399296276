import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { BUILT_CLI } from '../../built-programs.ts'
import { askAgent } from '../fixture/local-request.ts'
import { OTHER_USER, startServiceAgent } from './service-agent.ts'

const run = promisify(execFile)

/** An agent as the system service starts it, with a policy in force. */
async function startShared() {
  const agent = await startServiceAgent('all')
  await expect
    .poll(agent.readStatus, { timeout: 300_000, interval: 50 })
    .toMatchObject({ state: 'fresh', users: 'all', probes: { proxy: { ok: true } } })
  return agent
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
    expect(JSON.parse(status.stdout)).not.toHaveProperty('upload')
    const connect = ['check', 'connect:tcp', 'good.test:443', '--address', '192.0.2.1']
    const checked = await asOther([process.execPath, ...BUILT_CLI, ...connect], socketPath)
    expect(checked.stdout + checked.stderr).toContain('good.test')
    for (const path of ['/v1/sync', '/v1/local-rules', '/v1/break-glass/end'])
      expect((await ask(socketPath, 'POST', path)).stdout, path).toContain('permission_denied')
    expect((await ask(socketPath, 'GET', '/v1/log')).stdout).toContain('permission_denied')
    expect((await ask(socketPath, 'POST', '/v1/sandboxes')).stdout).toContain('makes no sandboxes')

    expect((await askAgent(socketPath, 'POST', '/v1/sync')).status).toBe(200)
    const own = await askAgent(socketPath, 'GET', '/v1/status')
    expect(own.body).toMatchObject({ upload: { mode: 'off', waiting: null } })
  })

  it('keeps its key and its cached policies out of reach of that user', async () => {
    const { dataDir, enrolment, socketPath } = await startShared()

    const records = join(dataDir, 'agent', 'records')
    for (const path of [dataDir, join(dataDir, 'agent'), records, `${enrolment}.key`]) {
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

describe('an agent of one user', () => {
  it('shows that a sandbox holds, without any privilege', async () => {
    const { readStatus } = await startServiceAgent('own')

    await expect
      .poll(readStatus, { timeout: 300_000, interval: 50 })
      .toMatchObject({ probes: { sandbox: { ok: true } } })
    expect((await readStatus())?.assurance?.class).toBe('linux-sandbox')
  })
})

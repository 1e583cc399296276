import { createDeviceKey } from '@palisade/client'
import { agentStatusSchema } from '@palisade/protocol'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { BUILT_AGENT } from '../../built-programs.ts'
import { askAgent } from '../fixture/local-request.ts'
import { startPolicyServer } from '../fixture/policy-server.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { createRepository, rulesOf, serve } from '../fixture/view-repository.ts'

const run = promisify(execFile)
const NOBODY = '65534'
export const OTHER_USER = ['--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', '--'] as const
/** As in the unit of the system service. */
const CAPABILITIES = '-all,+sys_ptrace,+dac_read_search'

/**
 * The built agent with a policy to fetch: one for all users as the system service starts it, or one
 * of an ordinary user.
 */
export async function startServiceAgent(users: 'all' | 'own') {
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
  if (users === 'own') await run('chown', ['-R', `${NOBODY}:${NOBODY}`, folder])
  const socketPath = join(folder, 'run', 'agent.sock')
  const bounds = ['--no-new-privs', '--bounding-set', CAPABILITIES, '--']
  const words = [...(users === 'all' ? bounds : OTHER_USER), process.execPath, ...BUILT_AGENT]
  const child = spawn('setpriv', [...words, 'start'], {
    cwd: '/',
    env: {
      PATH: process.env['PATH'],
      HOME: '/nonexistent',
      PALISADE_DATA_DIR: dataDir,
      PALISADE_AGENT_SOCKET: socketPath,
      PALISADE_USERS: users,
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
  return { dataDir, enrolment, socketPath, readStatus }
}

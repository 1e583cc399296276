import { createServer } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runInSandbox, type SandboxIo } from '../../../packages/cli/src/sandbox/run-in-sandbox.ts'
import type { RunRequest } from '../../../packages/cli/src/sandbox/run-request.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'

/** An agent that answers with a launch; returns the request that it got. */
async function ask(strict: RunRequest['strict']) {
  const socketPath = join(await temporaryDirectory(), 'agent.sock')
  const requests: unknown[] = []
  const launch = { id: 'a1', program: '/bin/sh', arguments: ['-c', 'x'], warnings: [] }
  const server = createServer((request, response) => {
    void json(request)
      .then((body) => requests.push(body))
      .then(() => response.end(JSON.stringify({ outcome: 'ready', launch, error: null })))
  })
  server.listen(socketPath)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const became: unknown[] = []
  const io: SandboxIo = {
    cwd: '/project',
    home: '/home/dev',
    platform: 'linux',
    isInSandbox: () => false,
    stderr: process.stderr,
    self: ['/node', '/palisade.cjs'],
    env: { PALISADE_AGENT_SOCKET: socketPath, HOME: '/home/dev', TERM: 'xterm', SECRET: 'key' },
    replaceProcess: (program, words) => became.push(program, words),
    captureProgram: async () => ({ kind: 'missing' }),
  }
  const options = { workspace: [], env: [], limit: [], publish: [], profile: null }
  await runInSandbox({ ...options, command: ['true'], strict }, io)
  return { requests, became, socketPath }
}

describe('palisade run', () => {
  it('asks for a strict sandbox only when told to', async () => {
    const { requests, became } = await ask(null)
    expect(requests).toMatchObject([{ directory: '/project' }])
    expect(requests[0]).not.toHaveProperty('strict')
    expect(became).toEqual(['/bin/sh', ['-c', 'x', 'true']])
  })

  it('names the review that follows a strict sandbox, without secrets of the person', async () => {
    const { requests, socketPath } = await ask({ apply: true })
    const shared = ['/usr/bin/env', '-i', 'HOME=/home/dev', 'TERM=xterm']
    const words = ['/node', '/palisade.cjs', 'staged', 'review', '--apply']
    const after = [...shared, `PALISADE_AGENT_SOCKET=${socketPath}`, ...words]
    expect(requests).toMatchObject([{ strict: { after } }])
  })
})

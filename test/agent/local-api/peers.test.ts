import { chmod, mkdir, stat } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadAdmission, readUser } from '../../../agent/src/local-api/peers.ts'
import { claimSocket, listenOnSocket } from '../../../agent/src/local-api/listen-on-socket.ts'
import { loadSocketOptions } from '../../../agent/src/host/process-lookup/socket-options.ts'
import { askAgent, exchange } from '../fixture/local-request.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { startApi } from './start-api.ts'

const own = process.getuid?.() ?? -1

const READING = [
  ['POST', '/v1/decide'],
  ['POST', '/v1/explain'],
  ['GET', '/v1/policies'],
] as const
const OWNED = [
  ['POST', '/v1/sync'],
  ['POST', '/v1/import'],
  ['POST', '/v1/local-rules'],
  ['POST', '/v1/local-rules/remove'],
  ['POST', '/v1/break-glass'],
  ['POST', '/v1/break-glass/end'],
  ['GET', '/v1/log'],
  ['GET', '/v1/log/verification'],
] as const

describe('the callers of an agent for all users', () => {
  it.each([...READING, ...OWNED])(
    'may call %s %s as the user of the agent',
    async (method, path) => {
      const { socketPath } = await startApi({ admit: await loadAdmission(own) })

      expect((await exchange(socketPath, { method, path, body: '{}' })).status).toBe(200)
    },
  )

  it.each(READING)('may call %s %s as any user', async (method, path) => {
    const { socketPath } = await startApi({ admit: await loadAdmission(own + 1) })

    expect((await exchange(socketPath, { method, path, body: '{}' })).status).toBe(200)
  })

  it.each(OWNED)('may not call %s %s as another user', async (method, path) => {
    const { socketPath, changes } = await startApi({ admit: await loadAdmission(own + 1) })

    expect(await askAgent(socketPath, method, path, '{}')).toMatchObject({
      status: 403,
      body: { error: { code: 'permission_denied', message: expect.stringContaining('as root') } },
    })
    expect(changes).toEqual([])
  })

  it('may not change a thing where the kernel does not tell who they are', async () => {
    const admit = await loadAdmission(own, async () => ({ ok: true, read: () => false }))
    const { socketPath } = await startApi({ admit })

    expect((await askAgent(socketPath, 'POST', '/v1/sync')).status).toBe(403)
  })

  it('are not served by an agent that cannot tell them apart', async () => {
    const load = async () => ({ ok: false, reason: 'not found' }) as const

    await expect(loadAdmission(own, load)).rejects.toMatchObject({ code: 'ERR_SOCKET' })
  })

  it('are unknown on a closed connection', async () => {
    const loaded = await loadSocketOptions()
    if (!loaded.ok) throw new Error(loaded.reason)

    expect(readUser(loaded.read, { _handle: null } as unknown as Socket)).toBe(null)
  })
})

describe('the socket for all users', () => {
  it('is open to them, in a directory to which only its owner writes', async () => {
    const path = join(await temporaryDirectory(), 'run', 'agent.sock')
    const server = createServer()
    await claimSocket(path, 'all')
    await listenOnSocket(server, path, 'all')

    expect((await stat(path)).mode & 0o777).toBe(0o666)
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o755)
    server.close()
  })

  it('is refused in a directory to which others write', async () => {
    const directory = join(await temporaryDirectory(), 'run')
    await mkdir(directory)
    await chmod(directory, 0o777)

    await expect(claimSocket(join(directory, 'agent.sock'), 'all')).rejects.toMatchObject({
      code: 'ERR_SOCKET',
      message: expect.stringContaining('other users can write'),
    })
  })
})

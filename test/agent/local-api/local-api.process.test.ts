import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { claimSocket, listenOnSocket } from '../../../agent/src/local-api/listen-on-socket.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

describe('the socket', () => {
  it('replaces the socket of a dead agent', async () => {
    const path = join(await temporaryDirectory(), 'agent.sock')
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    spawnSync(process.execPath, ['-e', script])
    expect((await stat(path)).isSocket()).toBe(true)
    const server = createServer()

    await claimSocket(path)
    await listenOnSocket(server, path)

    expect(server.listening).toBe(true)
    server.close()
  })
})

import { spawn } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFindClientPrograms } from '../../../../agent/src/host/process-lookup/find-client-programs.ts'
import { LOOPBACK, startServer, endOf } from './program-scene.ts'

describe.skipIf(process.platform !== 'linux')('the program behind a connection', () => {
  it('is a process with its executable and its user', async () => {
    const { port, clients } = await startServer()
    const script = `require('node:net').connect(${port}, '${LOOPBACK}')`
    const child = spawn(process.execPath, ['-e', script])
    onTestFinished(() => void child.kill('SIGKILL'))
    const own = connect(port, LOOPBACK)
    onTestFinished(() => void own.destroy())
    await expect.poll(() => clients.length, { timeout: 60_000 }).toBe(2)

    const find = createFindClientPrograms(() => ({ address: LOOPBACK, port }))
    const found = await find([...clients.map(endOf), { address: LOOPBACK, port: 1 }])

    const { uid, username } = userInfo()
    const user = { uid, name: username }
    const executable = readlinkSync('/proc/self/exe')
    expect(found).toHaveLength(3)
    expect(found).toContainEqual({ pid: child.pid, executable, user })
    expect(found).toContainEqual({ pid: process.pid, executable, user })
    expect(found[2]).toBeNull()
  })
})

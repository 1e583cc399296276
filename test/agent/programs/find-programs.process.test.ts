import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { userInfo } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFindPrograms } from '../../../agent/src/programs/find-programs.ts'

const LOOPBACK = '127.0.0.1'

/** A server that collects the ports of its clients. */
async function startServer(): Promise<{ port: number; clients: Socket[] }> {
  const clients: Socket[] = []
  const server = createServer((client) => clients.push(client.on('error', () => {})))
  server.listen(0, LOOPBACK)
  await once(server, 'listening')
  onTestFinished(() => {
    clients.forEach((client) => client.destroy())
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, clients }
}

const endOf = (client: Socket | undefined) => ({
  address: client?.remoteAddress ?? '',
  port: client?.remotePort ?? 0,
})

describe.skipIf(process.platform !== 'linux')('the program behind a connection', () => {
  it('is a process with its executable and its user', async () => {
    const { port, clients } = await startServer()
    const script = `require('node:net').connect(${port}, '${LOOPBACK}')`
    const child = spawn(process.execPath, ['-e', script])
    onTestFinished(() => void child.kill('SIGKILL'))
    const own = connect(port, LOOPBACK)
    onTestFinished(() => void own.destroy())
    await expect.poll(() => clients.length, { timeout: 60_000 }).toBe(2)

    const find = createFindPrograms(() => ({ address: LOOPBACK, port }))
    const found = await find([...clients.map(endOf), { address: LOOPBACK, port: 1 }])

    const { uid, username } = userInfo()
    const user = { uid, name: username }
    const executable = readlinkSync('/proc/self/exe')
    expect(found).toHaveLength(3)
    expect(found).toContainEqual({ pid: child.pid, executable, user })
    expect(found).toContainEqual({ pid: process.pid, executable, user })
    expect(found[2]).toBeNull()
  })

  it('is unknown once the process has closed its end', async () => {
    const { port, clients } = await startServer()
    const own = connect(port, LOOPBACK)
    await expect.poll(() => clients.length).toBe(1)
    const end = endOf(clients[0])
    const closed = once(own, 'close')
    own.destroy()
    await closed

    expect(await createFindPrograms(() => ({ address: LOOPBACK, port }))([end])).toEqual([null])
  })
})

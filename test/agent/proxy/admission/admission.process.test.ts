import { spawn } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf } from '../../fixture/bundle.ts'
import { connectTo, openRaw, readUntil, startProxy, startTcpServer } from '../../fixture/proxy.ts'

const LOCAL = bundleOf(['allow', 'connect:tcp', '127.0.0.1'])

/** Opens tunnels one by one and prints each status; holds them until it exits. */
const GREEDY = `
const [proxy, target, count] = process.argv.slice(1).map(Number)
const net = require('node:net')
const open = (left) => {
  if (left === 0) return
  const socket = net.connect(proxy, '127.0.0.1')
  socket.write('CONNECT 127.0.0.1:' + target + ' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
  socket.once('data', (data) => {
    console.log(String(data).slice(9, 12))
    open(left - 1)
  })
  socket.on('error', () => {})
}
open(count)
setInterval(() => {}, 1000)`

async function runGreedy(proxy: number, target: number, count: number): Promise<string[]> {
  const args = ['-e', GREEDY, String(proxy), String(target), String(count)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const statuses: string[] = []
  child.stdout.setEncoding('utf8')
  for await (const text of child.stdout as AsyncIterable<string>) {
    statuses.push(...text.trim().split('\n'))
    if (statuses.length === count) break
  }
  return statuses
}

describe('the slots of the proxy', () => {
  it('are never all taken by one process', async () => {
    const target = await startTcpServer(() => {})
    const { port, live } = await startProxy(LOCAL, {}, 12)

    await runGreedy(port, target, 6)
    await expect.poll(() => live.size()).toBe(3)
    const other = await openRaw(port, connectTo(`127.0.0.1:${target}`))

    expect(await readUntil(other, '\r\n\r\n')).toContain('HTTP/1.1 200 ')
  })

  it('are never all taken by the forks of one program', async () => {
    const target = await startTcpServer(() => {})
    const { port, live } = await startProxy(LOCAL, {}, 48)

    await Promise.all(Array.from({ length: 5 }, () => runGreedy(port, target, 20)))
    const other = await openRaw(port, connectTo(`127.0.0.1:${target}`))

    expect(await readUntil(other, '\r\n\r\n')).toContain('HTTP/1.1 200 ')
    expect(live.size()).toBeLessThan(48)
  })
})

import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { startTcpServer } from '../../agent/fixture/proxy.ts'
import { runCli } from '../run-cli.ts'
import { startMachine, type Machine } from './machine.ts'

describe('programs with the environment of `palisade env`', () => {
  let machine: Machine
  beforeEach(async () => {
    machine = await startMachine()
  })

  it('are not set up without an agent, and the shell stays as it is', async () => {
    const env = { PALISADE_AGENT_SOCKET: join(machine.cwd, 'none.sock') }

    expect(await runCli(['env'], { ...machine, env })).toMatchObject({ code: 1, out: '' })
  })
})

describe('palisade connect', () => {
  it('carries bytes both ways until the host ends', async () => {
    const machine = await startMachine()
    const port = await startTcpServer((socket) => {
      socket.write('hello ')
      socket.on('data', (chunk: Buffer) => socket.write(chunk))
      socket.on('end', () => socket.end('!'))
    })
    const stdin = Buffer.alloc(300_000, 'x')

    const run = await runCli(['connect', 'good.test', String(port)], { ...machine, stdin })

    expect(run).toEqual({ code: 0, out: `hello ${stdin.toString()}!`, err: '' })
    expect(machine.proxy.decisions).toMatchObject([{ decision: 'allow' }])
  })

  it('says why a host is denied', async () => {
    const machine = await startMachine()

    const { code, out, err } = await runCli(['connect', 'bad.test', '22'], machine)

    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('bad.test:22 denied, no rule allows it')
    expect(err).toContain('allow connect:tcp bad.test:22')
    expect(machine.proxy.resolved).toEqual([])
  })

  it.each([
    ['a..b', '22'],
    ['host\r\nX: y', '22'],
    ['host name', '22'],
    ['good.test', '0'],
    ['good.test', '65536'],
    ['good.test', '22x'],
  ])('refuses %j %j as usage, and asks no proxy', async (host, port) => {
    const run = await runCli(['connect', host, port], { env: { PALISADE_AGENT_SOCKET: '/none' } })

    expect(run.code).toBe(2)
  })

  it('refuses a proxy that is none, and one that does not answer', async () => {
    const port = await startTcpServer((socket) => socket.end('SSH-2.0-x\r\n\r\n'))
    const ask = (proxy: string) => runCli(['connect', '--proxy', proxy, 'good.test', '22'])

    expect(await ask(`http://127.0.0.1:${port}`)).toMatchObject({ code: 1, err: /no HTTP proxy/ })
    expect(await ask('http://127.0.0.1:1')).toMatchObject({ code: 1, err: /cannot be reached/ })
    expect((await ask('socks5://127.0.0.1:1')).code).toBe(2)
  })
})

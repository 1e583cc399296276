import type { DecisionRecord } from '@palisade/protocol'
import { once } from 'node:events'
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testUsers } from '../sandbox/fixture/bubblewrap.ts'
import { startUserMachine, type UserMachine } from '../sandbox/fixture/machine-process.ts'
import { attackBundle, NAMES, NETWORK, put } from '../sandbox/fixture/sandbox-attack.ts'

const SCRIPT = join(import.meta.dirname, '../sandbox/fixture/hostile-agent.sh')

/** The ways out, each with the record of its denial, or null where no decision is asked for. */
const WAYS: readonly (readonly [way: string, record: string | null])[] = [
  ['a request to the proxy', 'proxy w1.evil.test:80 default_deny'],
  ['a CONNECT to the proxy', 'proxy w2.evil.test:443 default_deny'],
  ['SOCKS5 with a name', 'proxy w3.evil.test:80 default_deny'],
  ['a raw connection to an address', 'capture 203.0.114.4:80 default_deny'],
  ['a raw connection over IPv6', 'capture 2001:4860:4860::5:80 default_deny'],
  ['the metadata of a cloud', 'capture 169.254.169.254:80 rule'],
  ['a private network', 'capture 10.0.0.7:80 rule'],
  ['the loopback of the machine', 'proxy 127.0.0.1:PORT protected_address'],
  ['the machine by its name', 'proxy host.sandbox.internal:PORT default_deny'],
  ['another port of an allowed name', 'capture x.allowed.test:8080 default_deny'],
  ['data in a name for the stub resolver', 'dns c2vjcmv0.w11.evil.test default_deny'],
  ['DNS over HTTPS', 'capture 203.0.114.12:443 default_deny'],
  ['an allowed name with a foreign Host', 'capture w13.evil.test:80 foreign_name'],
  ['an allowed name with a foreign TLS name', 'proxy w14.evil.test:443 foreign_name'],
  ['a datagram to a foreign address', 'capture 203.0.114.15:9999 default_deny'],
  ['DNS to another resolver', 'dns w16.evil.test default_deny'],
  ['the socket of the agent', null],
  ['a Unix socket', null],
  ['a raw socket', null],
  ['a new user namespace', null],
  ['the namespaces of another process', null],
  ['a mount', null],
  ['a process of the machine', null],
  ['a file of the machine', null],
  ['a hidden file', null],
  ['a hook that runs outside', null],
  ['a setting of the kernel', null],
  ['characters typed into a terminal', null],
  ['a change of the command line', null],
  ['the agent, asked to change the rules', null],
]

/** A listener on the machine's loopback, which no program inside may reach. */
async function listenOutside(): Promise<{ readonly port: number; readonly reached: () => number }> {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, reached: () => connections }
}

function fill(machine: UserMachine): void {
  const { project, folder } = machine
  writeFileSync(join(folder, 'outside'), 'OUTSIDE', { mode: 0o644 })
  put(machine, '.env', 'SECRET')
  linkSync(join(project, '.env'), join(project, 'alias'))
  symlinkSync(join(folder, 'outside'), join(project, 'to-outside'))
  for (const name of ['.git', '.git/hooks']) {
    mkdirSync(join(project, name))
    machine.give(join(project, name))
  }
  copyFileSync(SCRIPT, join(project, 'agent.sh'))
}

function describeRecord({ point, decision }: DecisionRecord, port: number): string | null {
  const { request, reason, content } = decision
  if (request === null || !('host' in request)) return null
  const at = request.port === port ? 'PORT' : String(request.port)
  return `${point} ${request.host}${point === 'dns' ? '' : `:${at}`} ${content ?? reason}`
}

describe.each(testUsers())('a hostile coding agent in a sandbox of %s', (user) => {
  it('tries thirty ways out, none of which leads out, and each decision is recorded', async () => {
    const machine = await startUserMachine(user, {
      bundle: (project) =>
        attackBundle(
          project,
          [['deny', 'read', '/**/.env']],
          [
            ...NETWORK,
            ['allow', 'connect:tcp', 'x.allowed.test:443'],
            ['allow', 'connect:udp', 'x.allowed.test:9999'],
          ],
        ),
      names: NAMES,
    })
    fill(machine)
    const { port, reached } = await listenOutside()
    const words = [port, machine.agent.pid, join(machine.folder, 'outside'), machine.agentDir]
    const { stdout } = await machine.run(['--', 'sh', 'agent.sh', ...words.map(String)])
    const outcomes = new Map(stdout.split('\n').map((line) => line.split('\t') as [string, string]))
    await expect.poll(async () => (await machine.look()).sandboxes).toBe(0)
    const { records, resolved } = await machine.look()
    const denials = records.filter(({ decision }) => decision.decision === 'deny')
    const recorded = new Set(denials.map((record) => describeRecord(record, port)))

    const table = WAYS.map(([way, record]) => [
      way,
      outcomes.get(way),
      record === null || recorded.has(record)
        ? record
        : `no record among ${[...recorded].slice(-7).join()}`,
    ])
    expect(table).toHaveLength(30)
    expect(table).toEqual(WAYS.map(([way, record]) => [way, 'refused', record]))
    expect(new Set(denials.map(({ sandbox }) => sandbox)).size).toBe(1)
    expect(new Set(resolved)).toEqual(new Set(['x.allowed.test']))
    expect(reached()).toBe(0)
    expect(machine.agent.exitCode).toBeNull()
    expect(readFileSync(join(machine.project, '.env'), 'utf8')).toBe('SECRET')
  })

  it('finds the ways that a policy opens, by the same script', async () => {
    const machine = await startUserMachine(user, {
      bundle: (project) =>
        attackBundle(project, [], [['allow', 'connect:tcp', 'w1.evil.test:80', '203.0.114.4']]),
      names: { 'w1.evil.test': ['203.0.114.7'] },
    })
    fill(machine)
    const { stdout } = await machine.run(['--', 'sh', 'agent.sh', '1', '1', '/none', '/none'])
    const escaped = stdout.split('\n').filter((line) => line.endsWith('\tescaped'))
    expect(escaped.map((line) => line.split('\t')[0])).toEqual([
      'a request to the proxy',
      'a raw connection to an address',
      'a process of the machine',
      'a hidden file',
    ])
  })
})

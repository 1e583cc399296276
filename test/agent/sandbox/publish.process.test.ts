import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PolicyBundle } from '../../../agent/src/policy/decision/policy-bundle.ts'
import { bundleClaims, policyOf, type RuleLine } from '../fixture/bundle.ts'
import { testUsers } from './fixture/bubblewrap.ts'
import { startUserMachine } from './fixture/machine-process.ts'
import { endOf, startSandboxMachine, untilPrinted } from './fixture/machine.ts'

const opened =
  (...denies: readonly RuleLine[]) =>
  (project: string): PolicyBundle =>
    bundleClaims({
      policies: [
        policyOf(
          ['allow', 'read', `${project}/**`, project],
          ['allow', 'write', `${project}/**`, project],
        ),
        ...(denies.length === 0 ? [] : [{ ...policyOf(...denies), id: 'pol_2' }]),
      ],
    })

/** Answers each connection once its other side has ended. */
const ANSWER = `
import socket, socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b'inside: ' + self.rfile.read())
class Server(socketserver.ThreadingTCPServer):
    address_family = getattr(socket, 'AF_INET6' if ':' in sys.argv[1] else 'AF_INET')
    allow_reuse_address = True
    request_queue_size = 400
with Server((sys.argv[1], 8000), Handler) as server:
    print('ready', flush=True)
    server.serve_forever()
`

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

interface Startable {
  start(words: readonly string[]): ChildProcess
}

/** A sandbox whose server listens on port 8000 of this address. Returns the port of the machine. */
async function serve(machine: Startable, address: string): Promise<number> {
  const port = await freePort()
  await startServer(machine, ['--publish', `${port}:8000`], address)
  return port
}

async function startServer(
  machine: Startable,
  options: readonly string[],
  address: string,
): Promise<void> {
  const child = machine.start([...options, '--', '/usr/bin/python3', '-c', ANSWER, address])
  onTestFinished(() => void child.kill('SIGTERM'))
  await untilPrinted(child)
}

/** Sends a text, ends this side, and returns the answer, or the code of the error. */
async function ask(port: number, host = '127.0.0.1'): Promise<string> {
  const socket = connect({ host, port, allowHalfOpen: true })
  try {
    socket.end('outside')
    return await text(socket)
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  } finally {
    socket.destroy()
  }
}

/** Addresses of the machine on which no port is published. */
function otherAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const outer = all.filter(({ family, internal }) => family === 'IPv4' && !internal)
  return ['127.0.0.2', ...outer.map(({ address }) => address)]
}

interface Process {
  readonly words: readonly string[]
  readonly status: string
}

function descendants(pid: number): readonly Process[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children
    .split(' ')
    .filter((child) => child !== '')
    .flatMap((child) => [
      {
        words: readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0').slice(0, -1),
        status: readFileSync(`/proc/${child}/status`, 'utf8'),
      },
      ...descendants(Number(child)),
    ])
}

describe('a published port', () => {
  it.each(testUsers())('leads to a server in a sandbox of %s', async (user) => {
    const machine = await startUserMachine(user, { bundle: opened() })
    const port = await serve(machine, '127.0.0.1')

    expect(await ask(port)).toBe('inside: outside')
  })

  it.each(['127.0.0.1', '0.0.0.0', '::1', '::'])(
    'leads from the loopback of the machine to a server on %s, and from nowhere else',
    async (address) => {
      const machine = await startSandboxMachine(opened())
      const port = await serve(machine, address)
      const others = otherAddresses()

      expect(await ask(port)).toBe('inside: outside')
      expect(await ask(port, '::1')).toBe('inside: outside')
      expect(await Promise.all(others.map((other) => ask(port, other)))).toEqual(
        others.map(() => 'ECONNREFUSED'),
      )
      expect(machine.events.filter(({ point }) => point !== 'files')).toEqual([])
    },
  )

  it('is one that a profile of the project names, also with `--strict`', async () => {
    const machine = await startSandboxMachine(opened())
    const port = await freePort()
    const profile = `profiles: {web: {publish: ['${port}:8000']}}`
    await writeFile(join(machine.project, '.palisade.yaml'), profile)

    await startServer(machine, ['--profile', 'web', '--strict'], '127.0.0.1')

    expect(await ask(port)).toBe('inside: outside')
  })

  it('refuses while nothing listens inside, and is closed after the command', async () => {
    const machine = await startSandboxMachine(opened())
    const port = await freePort()
    const script = 'echo ready; sleep 0.1; read line < fifo'
    const child = machine.start([
      '--publish',
      `${port}:8000`,
      '--',
      'sh',
      '-c',
      `mkfifo fifo; ${script}`,
    ])
    await untilPrinted(child)

    const early = await ask(port)
    const own = await machine.run(['--', 'bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`])
    child.kill('SIGTERM')
    await endOf(child)

    expect(early).toBe('ECONNRESET')
    expect(own.code).toBe(1)
    await expect.poll(() => ask(port)).toBe('ECONNREFUSED')
  })

  it('is joined by a process that has no capability in the namespaces of the sandbox', async () => {
    const machine = await startSandboxMachine(opened())
    await serve(machine, '127.0.0.1')

    const joiners = descendants(process.pid).filter(({ words }) => words.at(-1) === 'join')
    const inside = joiners.filter(({ words }) => words[0] === process.execPath)

    expect(inside.map(({ status }) => /^CapEff:\t(\w+)$/m.exec(status)?.[1])).toEqual([
      '0000000000000000',
    ])
  })

  it('takes a bounded number of connections at once, and serves again after them', async () => {
    const machine = await startSandboxMachine(opened())
    const port = await serve(machine, '127.0.0.1')
    const held: Socket[] = []
    let closed = 0
    for (let index = 0; index < 300; index += 1) {
      const socket = connect({ host: '127.0.0.1', port }).resume()
      held.push(socket.on('error', () => {}).on('close', () => (closed += 1)))
    }

    await expect.poll(() => closed, { timeout: 30_000 }).toBe(300 - 256)
    for (const socket of held) socket.destroy()
    await expect.poll(() => ask(port), { timeout: 30_000 }).toBe('inside: outside')
  })
})

describe('policy and published ports', () => {
  it.each(['127.0.0.1', 'localhost', '[::1]:8000'])(
    'a deny of %s refuses one',
    async (resource) => {
      const machine = await startSandboxMachine(opened(['deny', 'connect:tcp', resource]))

      const ended = await machine.run(['--publish', '8000', '--', 'echo', 'ran'])

      expect(ended).toMatchObject({ code: 125, stdout: '' })
      expect(ended.stderr).toContain("policy denies port 8000 of the machine's loopback")
    },
  )

  it('a new deny closes those of a running sandbox, with their connections', async () => {
    const machine = await startSandboxMachine(opened())
    const port = await serve(machine, '127.0.0.1')
    const held = connect({ host: '127.0.0.1', port }).on('error', () => {})
    const closed = once(held, 'close')
    machine.use(opened(['deny', 'connect:tcp', '127.0.0.1:1'])(machine.project))
    expect(await ask(port)).toBe('inside: outside')

    machine.use(opened(['deny', 'connect:tcp', `127.0.0.1:${port}`])(machine.project))

    await closed
    expect(await ask(port)).toBe('ECONNREFUSED')
  })

  it('a port that is taken is refused, and so is one of the agent', async () => {
    const machine = await startSandboxMachine(opened())
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo

    const first = await machine.run(['--publish', `${port}:8000`, '--', 'echo', 'ran'])
    const second = await machine.run(['--publish', '9000:3128', '--', 'echo', 'ran'])

    expect(first).toMatchObject({ code: 125, stdout: '' })
    expect(first.stderr).toContain(`port ${port} of the machine is taken; publish another one`)
    expect(second).toMatchObject({ code: 125, stdout: '' })
    expect(second.stderr).toContain('port 3128 of a sandbox belongs to the agent')
  })
})

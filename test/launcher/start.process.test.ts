import Sqlite from 'better-sqlite3'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { childrenOf, isRunning } from './processes.ts'
import { start, START, startScript } from './started.ts'
import { removeDirectory } from '../remove-directory.ts'

let folder: string
let env: Record<string, string>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'palisade-start-'))
  // Without overload control, a busy machine does not make the server refuse the agent.
  const settings = { PALISADE_PORT: '0', PALISADE_OVERLOAD_DELAY_MS: '0' }
  env = { ...settings, PALISADE_DATA_DIR: join(folder, 'data') }
})
afterEach(() => {
  removeDirectory(folder)
})

const READY = 'curl -x'
const DEVICE = '0192f0c1-7a5e-7c3d-9b1e-2f4a6c8e0d13'

function writeEnrolment(enrolment: object): string {
  const agentDir = join(folder, 'data', 'agent')
  mkdirSync(agentDir, { recursive: true })
  const file = join(agentDir, 'enrolment.json')
  writeFileSync(file, JSON.stringify(enrolment), { mode: 0o600 })
  return file
}

describe('start', () => {
  it('shows the token once, refuses a second start, stops on a signal, starts again', async () => {
    const first = start([], env)
    const banner = await first.said(READY)
    const url = /server +(http:\/\/127\.0\.0\.1:\d+)/.exec(banner)?.[1] ?? ''
    const health = await fetch(`${url}/healthz`)
    const second = await start([], env).finished
    first.child.kill('SIGTERM')
    const stopped = await first.finished
    const database = new Sqlite(join(folder, 'data', 'server.db'), { readonly: true })
    const machines = database.prepare('select name from devices').pluck().all()
    database.close()

    const isPrintable = /^[\w.-]{1,64}$/.test(hostname())
    expect(machines).toEqual([isPrintable ? hostname() : null])
    expect(banner).toMatch(/token +pal_pat_\w+/)
    expect(banner).toContain('acme, owner alice')
    expect(health.status).toBe(200)
    expect(second).toMatchObject({ code: 78, stdout: '' })
    expect(second.stderr).toContain('Palisade already runs on')
    expect(stopped).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(env['PALISADE_DATA_DIR'] ?? '')).not.toContain('start.lock')
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed')
    for (const log of ['server.log', 'agent.log'])
      expect(statSync(join(folder, 'data', log)).mode & 0o777).toBe(0o600)

    // The server starts on another port, and the machine's enrolment follows it.
    const again = start([], env)
    const later = await again.said(READY)
    again.child.kill('SIGINT')

    expect(later).not.toContain('pal_pat_')
    expect(later).toContain('acme, owner alice')
    expect((await again.finished).code).toBe(0)
  })

  it('ends, and ends the server, when the agent dies', async () => {
    const started = start([], env)
    await started.said(READY)
    const [server, agent] = childrenOf(started.child.pid ?? 0)
    process.kill(agent ?? 0, 'SIGKILL')
    const ended = await started.finished

    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('the agent ended by itself')
    expect(() => process.kill(server ?? 0, 0)).toThrow('ESRCH')
  })

  it('ends its services after an uncaught exception', async () => {
    const bug = join(folder, 'bug.mjs')
    const raise = `process.on('SIGUSR2', () => { throw new Error('a bug of the launcher') })`
    writeFileSync(bug, `if (process.argv[1]?.endsWith('start.ts')) ${raise}\n`)
    const run = start([], { ...env, NODE_OPTIONS: `--import=${bug}` })
    await run.said(READY)
    const services = childrenOf(run.child.pid ?? 0)

    run.child.kill('SIGUSR2')
    const { code, stderr } = await run.finished

    expect(services).toHaveLength(2)
    expect(code).toBe(1)
    expect(stderr).toBe('palisade: Error: a bug of the launcher\n')
    expect(services.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
  })

  it('takes its services with it when it is killed, also while they stop', async () => {
    for (const isStopping of [false, true]) {
      const run = start([], env)
      const banner = await run.said(READY)
      const services = childrenOf(run.child.pid ?? 0)
      const url = /server +(http:\/\/127\.0\.0\.1:\d+)/.exec(banner)?.[1] ?? ''
      // A request whose body never ends keeps a server that stops.
      const kept = connect(Number(new URL(url).port), '127.0.0.1')
      kept.on('error', () => {}).write('POST /v2/auth/token HTTP/1.1\r\nHost: x\r\n')
      await once(kept, 'connect')
      if (isStopping) run.child.kill('SIGTERM')
      await pause(isStopping ? 300 : 0)

      run.child.kill('SIGKILL')
      const killedMs = performance.now()
      await run.finished
      while (services.some(isRunning) && performance.now() - killedMs < 10_000) await pause(20)

      expect(services).toHaveLength(2)
      expect(performance.now() - killedMs).toBeLessThan(4_000)
    }
  }, 120_000)

  it('ends with the launcher that waits for it', async () => {
    const script =
      `require('node:child_process').spawn(process.execPath, process.argv.slice(1), ` +
      `{ stdio: 'inherit' }); setInterval(() => {}, 1000)`
    const run = startScript(['-e', script, START], env)
    await run.said(READY)
    const [launcher = 0] = childrenOf(run.child.pid ?? 0)
    const all = [launcher, ...childrenOf(launcher)]

    run.child.kill('SIGKILL')
    const killedMs = performance.now()
    while (all.some(isRunning) && performance.now() - killedMs < 10_000) await pause(20)

    expect(all).toHaveLength(3)
    expect(performance.now() - killedMs).toBeLessThan(4_000)
  }, 120_000)

  it('leaves no process running if it is stopped before it is ready', async () => {
    const started = start([], env)
    while (childrenOf(started.child.pid ?? 0).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5))
    started.child.kill('SIGTERM')

    expect((await started.finished).code).toBe(0)
    expect(readdirSync(env['PALISADE_DATA_DIR'] ?? folder)).not.toContain('start.lock')
  })
})

describe('start, if it must refuse', () => {
  it('tells of a leftover of its own data directory', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    mkdirSync(env['PALISADE_DATA_DIR'] ?? '')
    writeFileSync(join(folder, 'data', 'start.lock'), '2147483646 killed\n')

    const run = await start([], { ...env, PALISADE_PORT: port }).finished
    taken.close()

    expect(run).toMatchObject({ code: 78, stdout: '' })
    expect(run.stderr).toContain(`port ${port} on 127.0.0.1 is taken; set PALISADE_PORT`)
    expect(run.stderr).toContain(
      `; the start before on \`${join(folder, 'data')}\` (process 2147483646) was killed, and its`,
    )
  })

  it('names the taken port and creates no file', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' ? String(address?.port) : ''

    const run = await start([], { ...env, PALISADE_PORT: port }).finished
    taken.close()

    expect(run).toMatchObject({ code: 78, stdout: '' })
    expect(run.stderr).toBe(
      `palisade: port ${port} on 127.0.0.1 is taken; set PALISADE_PORT to another one\n`,
    )
    expect(existsSync(env['PALISADE_DATA_DIR'] ?? '')).toBe(false)
  })

  it('gives the proxy the port after that of the server, at each start the same', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0

    const run = await start([], { ...env, PALISADE_PORT: String(port - 1) }).finished
    taken.close()

    expect(run).toMatchObject({ code: 78, stdout: '' })
    expect(run.stderr).toBe(
      `palisade: port ${port} on 127.0.0.1 is taken; set PALISADE_PROXY_PORT to another one\n`,
    )
  })

  it('names a data directory that is a file', async () => {
    writeFileSync(join(folder, 'data'), '')

    const run = await start([], env).finished

    expect(run.code).toBe(78)
    expect(run.stderr).toContain(`the data directory \`${join(folder, 'data')}\` cannot be written`)
    expect(run.stderr.trim().split('\n')).toHaveLength(1)
  })

  it('prints the error of the server about its settings, with its exit code', async () => {
    const run = await start([], { ...env, PALISADE_ACCESS_TOKEN_MINUTES: '0' }).finished

    expect(run.code).toBe(78)
    expect(run.stderr).toContain('PALISADE_ACCESS_TOKEN_MINUTES')
    expect(run.stderr).not.toMatch(/\n\s+at /)
  })

  it.each(['https://palisade.example.com', 'http://127.0.0.1:8420'])(
    'does not change a machine that another server at %s has enrolled',
    async (server) => {
      const file = writeEnrolment({ server, org: 'acme', user: 'alice', device_id: DEVICE })
      const before = readFileSync(file, 'utf8')

      const run = await start([], env).finished

      expect(run).toMatchObject({ code: 78, stdout: '' })
      expect(run.stderr).toContain(`enrolled to organization \`acme\` at \`${server}\``)
      expect(run.stderr).toContain('palisade-agent -- start')
      expect(readFileSync(file, 'utf8')).toBe(before)
      expect(readdirSync(join(folder, 'data'))).toEqual(['agent'])
    },
  )

  it('does not change a foreign enrolment in a directory that has its own server', async () => {
    const first = start([], env)
    await first.said(READY)
    first.child.kill('SIGTERM')
    await first.finished
    const file = join(folder, 'data', 'agent', 'enrolment.json')
    const own = JSON.parse(readFileSync(file, 'utf8'))
    const foreign = JSON.stringify({ ...own, device_id: DEVICE, server: 'http://127.0.0.1:1' })
    writeFileSync(file, foreign)

    const run = await start([], env).finished

    expect(run.code).toBe(78)
    expect(run.stderr).toContain('which `npm start` did not make')
    expect(readFileSync(file, 'utf8')).toBe(foreign)
  })

  it('reads the enrolment that PALISADE_ENROLMENT names', async () => {
    const server = 'http://127.0.0.1:8420'
    const file = writeEnrolment({ server, org: 'acme', user: null, device_id: DEVICE })
    const data = join(folder, 'other')

    const run = await start([], { ...env, PALISADE_DATA_DIR: data, PALISADE_ENROLMENT: file })
      .finished

    expect(run.code).toBe(78)
    expect(run.stderr).toContain(`in \`${file}\``)
    expect(readdirSync(data)).toEqual([])
  })

  it.each([[['--nonsense']], [['--json']], [['extra']]])(
    'refuses %j with its usage',
    async (args) => {
      const run = await start(args, env).finished

      expect(run).toMatchObject({ code: 2, stdout: '' })
      expect(run.stderr).toContain('usage: npm start')
    },
  )
})

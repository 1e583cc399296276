import { enrolmentSchema } from '@palisade/protocol'
import Sqlite from 'better-sqlite3'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../bench/src/process/free-port.ts'
import {
  runServerCommand,
  runServerCommandUnread,
  startServerProcess,
  startServerWithFullLog,
  type RunningServer,
} from './server-process.ts'
import { openFileDevice } from './test-device.ts'
import { temporaryDirectory } from './temporary-directory.ts'

const INIT = ['init', '--org', 'acme', '--owner', 'alice']

interface Created {
  readonly org: string
  readonly username: string
  readonly password: string
  readonly personal_token: string
}

const newDataDir = () => join(temporaryDirectory(), 'data')

async function init(dataDir: string): Promise<Created> {
  const outcome = await runServerCommand([...INIT, '--json'], { PALISADE_DATA_DIR: dataDir })
  expect(outcome.stderr).toBe('')
  return JSON.parse(outcome.stdout) as Created
}

async function signIn(server: RunningServer, username: string, password: string): Promise<string> {
  const response = await fetch(`${server.url}/v2/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { access_token: string }).access_token
}

const policiesOf = (server: RunningServer, org: string) =>
  `${server.url}/v2/orgs/${org}/governance/policies`

describe('palisade-server start', () => {
  async function refusal(settings: Record<string, string>, status = 78): Promise<string> {
    const outcome = await runServerCommand(['start'], settings)
    expect(outcome.status, outcome.stderr).toBe(status)
    expect(outcome.stdout).toBe('')
    return outcome.stderr
  }

  it('ends with 1 and one line when the port is in use, without creating files', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    onTestFinished(() => void other.close())
    const port = String((other.address() as AddressInfo).port)
    const dataDir = newDataDir()

    const stderr = await refusal({ PALISADE_PORT: port, PALISADE_DATA_DIR: dataDir }, 1)

    expect(stderr).toMatch(/^palisade-server: port \d+ of `127\.0\.0\.1` is in use; .*\n$/)
    expect(existsSync(dataDir)).toBe(false)
  })

  it.each([
    ['1 for an address that this machine may get later', '192.0.2.1', 1],
    ['78 for an address with an unknown interface', 'fe80::1%absent', 78],
    ['78 for a host that has no address', 'a'.repeat(300), 78],
  ])('ends with %s', async (_title, host, status) => {
    const settings = { PALISADE_HOST: host, PALISADE_DATA_DIR: newDataDir() }

    expect(await refusal(settings, status)).toMatch(
      /^palisade-server: `\S+` is not an address of this machine; .*\n$/,
    )
  })

  it('ends with 1 while another process keeps the database locked', async () => {
    const dataDir = newDataDir()
    await init(dataDir)
    const file = join(dataDir, 'server.db')
    const other = new Sqlite(file)
    onTestFinished(() => void other.close())
    other.pragma('journal_mode = DELETE')
    other.exec('BEGIN EXCLUSIVE')

    expect(await refusal({ PALISADE_PORT: '0', PALISADE_DATA_DIR: dataDir }, 1)).toBe(
      `palisade-server: database \`${file}\` cannot be opened (SQLITE_BUSY); ` +
        'another process has locked it\n',
    )
  })

  it('refuses a data directory that is a file, below a file, or impossible to create', async () => {
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, 'mine')

    for (const dataDir of [file, join(file, 'below'), '/proc/palisade'])
      expect(await refusal({ PALISADE_PORT: '0', PALISADE_DATA_DIR: dataDir })).toMatch(
        /^palisade-server: data directory `.*; set `PALISADE_DATA_DIR` to .*\n$/,
      )
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })

  it('refuses a file that is not a database, and does not change it', async () => {
    const dataDir = temporaryDirectory()
    const content = 'not a database '.repeat(1000)
    writeFileSync(join(dataDir, 'server.db'), content)

    const stderr = await refusal({ PALISADE_PORT: '0', PALISADE_DATA_DIR: dataDir })

    const file = join(dataDir, 'server.db')
    expect(stderr).toBe(
      `palisade-server: database \`${file}\` cannot be opened (SQLITE_NOTADB); ` +
        'restore it from a backup\n',
    )
    expect(readFileSync(join(dataDir, 'server.db'), 'utf8')).toBe(content)
    expect(readdirSync(dataDir)).toEqual(['server.db'])
  })

  it('refuses the database of another application, and does not change it', async () => {
    const dataDir = temporaryDirectory()
    const file = join(dataDir, 'server.db')
    const foreign = new Sqlite(file)
    foreign.exec('CREATE TABLE places (url TEXT)')
    foreign.close()
    const before = readFileSync(file)

    expect(await refusal({ PALISADE_PORT: '0', PALISADE_DATA_DIR: dataDir })).toBe(
      `palisade-server: \`${file}\` is a database of another application; ` +
        'choose another path for Palisade\n',
    )
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readdirSync(dataDir)).toEqual(['server.db'])
  })

  it('lists every problem of its settings, one a line', async () => {
    const stderr = await refusal({
      PALISADE_PORT: 'x',
      PALISADE_LOG_LEVEL: 'y',
      DATABASE_URL: 'postgres://localhost',
      PALISADE_DATA_DIR: newDataDir(),
    })

    const lines = stderr.trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(stderr).toContain('`DATABASE_URL` must name a host and a database')
  })

  it('prefers its options to the environment', async () => {
    const dataDir = newDataDir()
    const port = await freePort()
    const settings = { PALISADE_DATA_DIR: dataDir, PALISADE_HOST: '192.0.2.1', PALISADE_PORT: 'x' }

    const server = await startServerProcess(settings, [
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
    ])

    expect(server.url).toBe(`http://127.0.0.1:${port}`)
    expect((await server.stop('SIGTERM')).status).toBe(0)
    const bad = await runServerCommand(['start', '--port', '70000'], { PALISADE_DATA_DIR: dataDir })
    expect([bad.status, bad.stderr]).toEqual([78, expect.stringContaining('`PALISADE_PORT` must')])
  })

  it('creates a private directory and database', async () => {
    const dataDir = newDataDir()

    const server = await startServerProcess({ PALISADE_DATA_DIR: dataDir })

    expect(statSync(dataDir).mode & 0o777).toBe(0o700)
    expect(statSync(join(dataDir, 'server.db')).mode & 0o777).toBe(0o600)
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect((await server.stop('SIGINT')).status).toBe(0)
  })

  it('serves and stops normally when its log cannot be written', async () => {
    const server = await startServerWithFullLog(await freePort(), {
      PALISADE_DATA_DIR: newDataDir(),
    })

    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    expect(await server.stop('SIGTERM')).toMatchObject({ status: 0, stderr: '' })
  })

  it('finishes running requests after SIGTERM, then ends with 0', async () => {
    const dataDir = newDataDir()
    const { personal_token } = await init(dataDir)
    const server = await startServerProcess({ PALISADE_DATA_DIR: dataDir })
    const body = JSON.stringify({ username: 'alice', password: personal_token })
    const { port } = new URL(server.url)
    const socket = connect(Number(port), '127.0.0.1')
    const head = [
      'POST /v2/auth/token HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    // The interim answer proves that the request is running at the time of the signal.
    await new Promise((resolve) => socket.once('data', resolve))
    let answer = ''
    socket.on('data', (chunk) => (answer += String(chunk)))
    const ended = new Promise((resolve) => socket.once('close', resolve))

    const stopped = server.stop('SIGTERM')
    await refused(Number(port))
    socket.write(body)
    await ended

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(answer).toContain('access_token')
    const outcome = await stopped
    expect([outcome.status, outcome.stderr]).toEqual([0, ''])
    expect(outcome.stdout).not.toContain('pal_pat_')
    expect(readdirSync(dataDir)).toEqual(['evidence.db', 'server.db', 'server.db-ballast'])
  })

  it('has every acknowledged write after kill -9', async () => {
    const dataDir = newDataDir()
    const { personal_token } = await init(dataDir)
    const settings = { PALISADE_DATA_DIR: dataDir, PALISADE_LOG_LEVEL: 'info' }
    const first = await startServerProcess(settings)
    const token = await signIn(first, 'alice', personal_token)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const names = Array.from({ length: 100 }, (_, index) => `policy ${index}`)
    const statuses = await Promise.all(
      names.map(async (name) => {
        const body = JSON.stringify({ name })
        const url = policiesOf(first, 'acme')
        return (await fetch(url, { method: 'POST', headers, body })).status
      }),
    )
    await first.stop('SIGKILL')
    expect(statuses.every((status) => status === 201)).toBe(true)

    const second = await startServerProcess(settings)

    // The token is older than the kill: the signing key survived as well.
    const listed = await fetch(policiesOf(second, 'acme'), { headers })
    const { data } = (await listed.json()) as { data: { name: string }[] }
    expect(data.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
    expect((await second.stop('SIGTERM')).status).toBe(0)
  })
})

describe('palisade-server init', () => {
  it('prints the first organization once', async () => {
    const dataDir = newDataDir()
    const settings = { PALISADE_DATA_DIR: dataDir }

    const created = await init(dataDir)
    const again = await runServerCommand([...INIT, '--json'], settings)
    const ifEmpty = await runServerCommand([...INIT, '--json', '--if-empty'], settings)

    expect(created).toEqual({
      org: 'acme',
      username: 'alice',
      password: expect.stringMatching(/^.{24}$/),
      personal_token: expect.stringMatching(/^pal_pat_/),
      status: 'active',
    })
    expect([again.status, again.stdout]).toEqual([1, ''])
    expect(again.stderr).toMatch(/^palisade-server: there is an organization already; .*\n$/)
    expect(ifEmpty).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it('succeeds once when it runs twice at the same time', async () => {
    const settings = { PALISADE_DATA_DIR: newDataDir() }

    const outcomes = await Promise.all([
      runServerCommand(INIT, settings),
      runServerCommand(INIT, settings),
    ])

    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([0, 1]))
  })

  it('refuses invalid usage with 2, without creating files', async () => {
    const dataDir = newDataDir()
    const settings = { PALISADE_DATA_DIR: dataDir }

    for (const args of [
      ['init'],
      ['init', '--org', 'No Spaces', '--owner', 'alice'],
      ['init', '--org', 'acme', '--owner', 'Alice!'],
      [...INIT, '--unknown'],
      ['nonsense'],
    ]) {
      const outcome = await runServerCommand(args, settings)
      expect([outcome.status, outcome.stdout], args.join(' ')).toEqual([2, ''])
      expect(outcome.stderr.trimEnd().split('\n')).toHaveLength(1)
    }
    expect(existsSync(dataDir)).toBe(false)
  })

  it('prints its help', async () => {
    for (const args of [
      ['--help'],
      ['help'],
      ['init', '--help'],
      ['help', 'init'],
      ['device', 'enrol', '--help'],
    ]) {
      const { status, stdout } = await runServerCommand(args, {})
      expect(status).toBe(0)
      expect(stdout).toMatch(/Examples:\n {2}palisade-server /)
    }
  })
})

it('palisade-server --version prints the release', async () => {
  const { status, stdout } = await runServerCommand(['--version'], {})

  expect([status, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)])
  expect((await runServerCommand(['version'], {})).stdout).toBe(stdout)
})

describe('palisade-server org create', () => {
  it('fails with one line when its output is not read', async () => {
    const dataDir = newDataDir()

    const outcome = await runServerCommandUnread(['org', 'create', 'acme', '--owner', 'alice'], {
      PALISADE_DATA_DIR: dataDir,
    })

    expect(outcome.status).toBe(1)
    expect(outcome.stderr).toBe(
      'palisade-server: standard output was closed before everything was printed\n',
    )
  })

  it('adds organizations while the server runs', async () => {
    const dataDir = newDataDir()
    const settings = { PALISADE_DATA_DIR: dataDir }
    await init(dataDir)
    const server = await startServerProcess(settings)
    const create = async (...args: string[]) => {
      const outcome = await runServerCommand(['org', 'create', ...args, '--json'], settings)
      expect(outcome.status, outcome.stderr).toBe(0)
      return JSON.parse(outcome.stdout) as Created
    }

    const rival = await create('rival', '--owner', 'rita')
    const poor = await create('poor', '--owner', 'rita', '--without-governance')

    // Rita already has an account of `rival`, so `poor` sends an invitation and returns no secret.
    expect([rival.username, poor.password, poor.personal_token]).toEqual(['rita', null, null])
    const token = await signIn(server, 'rita', rival.password)
    const list = async (org: string) =>
      (await fetch(policiesOf(server, org), { headers: { authorization: `Bearer ${token}` } }))
        .status
    expect([await list('rival'), await list('poor'), await list('acme')]).toEqual([200, 404, 404])
    const again = await runServerCommand(['org', 'create', 'acme', '--owner', 'rita'], settings)
    expect([again.status, again.stdout]).toEqual([1, ''])
    expect(again.stderr).toBe('palisade-server: organization `acme` exists already\n')
    await server.stop('SIGTERM')
  })
})

describe('a named pipe instead of the database', () => {
  it('is refused at once without waiting for it', async () => {
    const dataDir = temporaryDirectory()
    execFileSync('mkfifo', [join(dataDir, 'server.db')])

    const settings = { PALISADE_PORT: '0', PALISADE_DATA_DIR: dataDir }
    const outcome = await runServerCommand(['start'], settings)

    expect(outcome.status).not.toBe(0)
    expect(outcome.stderr).toContain('cannot be opened')
  })
})

describe('a command on a database with damaged pages', () => {
  it('reports them in one line', async () => {
    const dataDir = newDataDir()
    await init(dataDir)
    const file = join(dataDir, 'server.db')
    // The header and the schema stay intact, so that the database opens.
    writeFileSync(file, readFileSync(file).fill(0xff, 4096, 3 * 4096))

    const outcome = await runServerCommand(['org', 'create', 'initech', '--owner', 'bob'], {
      PALISADE_DATA_DIR: dataDir,
    })

    expect(outcome).toEqual({
      status: 1,
      stdout: '',
      stderr: 'palisade-server: the database does not answer: SQLITE_CORRUPT\n',
    })
  })
})

describe('palisade-server device enrol', () => {
  it('writes a private token file that the server accepts, and replaces it if forced', async () => {
    const dataDir = newDataDir()
    await init(dataDir)
    const server = await startServerProcess({ PALISADE_DATA_DIR: dataDir })
    const out = join(dataDir, 'agent', 'device.json')
    const enrol = (...more: string[]) =>
      runServerCommand(
        ['device', 'enrol', '--org', 'acme', '--server', server.url, '--out', out, ...more],
        { PALISADE_DATA_DIR: dataDir },
      )

    const outcome = await enrol('--user', 'alice', '--json')

    const enrolment = enrolmentSchema.parse(JSON.parse(readFileSync(out, 'utf8')))
    expect(enrolment).toMatchObject({ server: server.url, org: 'acme', user: 'alice' })
    expect(JSON.parse(outcome.stdout)).toEqual({
      device_id: enrolment.device_id,
      org: 'acme',
      user: 'alice',
      file: out,
    })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(statSync(join(dataDir, 'agent')).mode & 0o777).toBe(0o700)
    expect(statSync(`${out}.key`).mode & 0o777).toBe(0o600)
    const machine = await openFileDevice(out)
    const fetched = await machine.fetch(`${server.url}/api/v1/device/view`)
    expect(fetched.status).toBe(200)

    const refused = await enrol()
    expect([refused.status, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/exists already; use --force/)
    expect((await enrol('--force')).status).toBe(0)
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ user: null })
    expect(readdirSync(join(dataDir, 'agent'))).toEqual(['device.json', 'device.json.key'])
    await server.stop('SIGTERM')
  })

  it('does not follow links, and refuses an unknown organization or user', async () => {
    const dataDir = newDataDir()
    await init(dataDir)
    const directory = temporaryDirectory()
    const target = join(directory, 'target')
    const out = join(directory, 'device.json')
    symlinkSync(target, out)
    const enrol = (org: string, ...more: string[]) =>
      runServerCommand(
        ['device', 'enrol', '--org', org, '--server', 'http://127.0.0.1:1', '--out', out, ...more],
        { PALISADE_DATA_DIR: dataDir },
      )

    expect((await enrol('acme')).status).toBe(1)
    expect((await enrol('absent')).stderr).toContain('there is no organization `absent`')
    expect((await enrol('acme', '--user', 'bob')).stderr).toContain('`bob` is not a member')
    expect((await enrol('acme', '--server', 'nowhere')).status).toBe(2)
    expect((await enrol('acme', '--force')).status).toBe(0)
    expect(existsSync(target)).toBe(false)
    expect(readdirSync(directory)).toEqual(['device.json', 'device.json.key'])
  })
})

describe('palisade-server device enrol --name', () => {
  it('stores the name, and refuses one of several lines', async () => {
    const dataDir = newDataDir()
    await init(dataDir)
    const enrol = (out: string, name: string) =>
      runServerCommand(
        `device enrol --org acme --server http://127.0.0.1:1 --out`
          .split(' ')
          .concat(join(dataDir, out), '--name', name),
        { PALISADE_DATA_DIR: dataDir },
      )

    const allowed = await enrol('one.json', ' build-7 ')
    const refused = await enrol('two.json', 'a\nb')

    expect(allowed.status).toBe(0)
    expect(refused).toEqual({
      status: 2,
      stdout: '',
      stderr: 'palisade-server: `--name` must be one line of printable characters\n',
    })
    expect(existsSync(join(dataDir, 'two.json'))).toBe(false)
    const database = new Sqlite(join(dataDir, 'server.db'), { readonly: true })
    const names = database.prepare('select name from devices').pluck().all()
    database.close()
    expect(names).toEqual(['build-7'])
    expect(JSON.parse(readFileSync(join(dataDir, 'one.json'), 'utf8')).name).toBe('build-7')
  })
})

describe('palisade-server device enrol --force', () => {
  it('replaces only an ordinary file, and otherwise does not enrol', async () => {
    const dataDir = newDataDir()
    await init(dataDir)
    const directory = temporaryDirectory()
    const pipe = join(directory, 'pipe')
    execFileSync('mkfifo', [pipe])
    const link = join(directory, 'link')
    symlinkSync(pipe, link)

    for (const out of [pipe, link]) {
      const enrol = ['device', 'enrol', '--org', 'acme', '--server', 'http://127.0.0.1:1']
      const outcome = await runServerCommand([...enrol, '--out', out, '--force'], {
        PALISADE_DATA_DIR: dataDir,
      })
      expect(outcome).toEqual({
        status: 1,
        stdout: '',
        stderr: `palisade-server: \`${out}\` is not an ordinary file; name another\n`,
      })
    }
    expect(statSync(pipe).isFIFO()).toBe(true)
    expect(readdirSync(directory)).toEqual(['link', 'pipe'])
    const database = new Sqlite(join(dataDir, 'server.db'), { readonly: true })
    onTestFinished(() => void database.close())
    expect(database.prepare('SELECT count(*) FROM devices').pluck().get()).toBe(0)
  })
})

/** Waits until the port is closed. */
async function refused(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const probe = connect(port, '127.0.0.1', () => resolve(true))
      probe.once('error', () => resolve(false))
      probe.once('connect', () => probe.destroy())
    })
    if (!isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

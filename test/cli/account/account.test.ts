import { chmod, lstat, mkdir, readFile, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { envelope } from '../../client/loopback-server.ts'
import { ENROLMENT, signedIn, startGovernanceServer } from '../governance-server.ts'
import { runCli, type CliRun, type CliSetting } from '../run-cli.ts'
import { temporaryDirectory, type TemporaryDirectory } from '../temporary-directory.ts'

const LOGIN = ['login', '--org', 'acme', '--username', 'alice', '--token-stdin']

async function login(
  directory: TemporaryDirectory,
  server: string,
  setting: CliSetting = {},
): Promise<CliRun> {
  return runCli([...LOGIN, '--server', server], {
    env: { PALISADE_CONFIG_DIR: join(directory.path, 'config') },
    stdin: 'pal_pat_good\n',
    ...setting,
  })
}

describe('palisade login', () => {
  it('says that a terminal shows the token that a person types', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    const stdin = Object.assign(Readable.from([Buffer.from('pal_pat_good\n')]), { isTTY: true })

    const { code, err } = await login(directory, server.url, { stdin })

    expect(code).toBe(0)
    expect(err).toBe('reading the token from the terminal, which shows it; Ctrl-D ends the input\n')
  })

  it('reads a secret whose characters are split between chunks', async () => {
    await using directory = await temporaryDirectory()
    const bodies: unknown[] = []
    const refuse: typeof fetch = async (_url, options) => {
      bodies.push(options?.body)
      return Response.json({ error: { code: 'unauthenticated', message: 'no' } }, { status: 401 })
    }
    const stdin = Readable.from([Buffer.from([0xc3]), Buffer.from([0xbc, 0x0a])])

    await login(directory, 'http://127.0.0.1:9', { stdin, fetch: refuse })

    expect(bodies).toEqual(['{"username":"alice","password":"ü"}'])
  })

  it('refuses a secret that is not UTF-8', async () => {
    await using directory = await temporaryDirectory()

    const result = await login(directory, 'http://127.0.0.1:9', { stdin: Buffer.from([0xff]) })

    expect(result).toMatchObject({ code: 2, err: 'error: standard input is not UTF-8 text\n' })
  })

  it('stores a verified token in a file that only the user can read', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()

    const result = await login(directory, `${server.url}/`)

    expect(result).toEqual({
      code: 0,
      err: '',
      out: `signed in to ${server.url} as alice, organization acme\n`,
    })
    const file = join(directory.path, 'config', 'credentials.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(join(directory.path, 'config'))).mode & 0o777).toBe(0o700)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      server: server.url,
      org: 'acme',
      username: 'alice',
      token: 'pal_pat_good',
    })
  })

  it('lets later commands work, until logout', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    const setting = { env: {}, home: directory.path }
    await login(directory, server.url, setting)

    expect((await runCli(['policy', 'list'], setting)).code).toBe(0)
    expect((await runCli(['logout'], setting)).out).toBe('signed out\n')
    expect((await runCli(['policy', 'list'], setting)).code).toBe(78)
    expect((await runCli(['logout'], setting)).out).toBe('not signed in\n')
  })

  it('stores nothing if the token is wrong, and never prints it', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()

    const result = await login(directory, server.url, {
      stdin: 'pal_pat_wrong',
      env: { PALISADE_CONFIG_DIR: join(directory.path, 'config') },
    })

    expect(result).toMatchObject({ code: 1, out: '' })
    expect(result.err).toBe('error: wrong user name or secret (unauthenticated)\n')
    await expect(stat(join(directory.path, 'config'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('asks for missing values on a terminal', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    const asked: string[] = []
    const answers: Record<string, string> = {
      Server: server.url,
      Organization: 'acme',
      'User name': 'alice',
    }

    const result = await runCli(['login'], {
      home: directory.path,
      prompts: {
        text: async (message) => {
          asked.push(message)
          return answers[message] ?? null
        },
        secret: async (message) => {
          asked.push(message)
          return 'pal_pat_good'
        },
        confirm: async () => null,
      },
    })

    expect(result.code).toBe(0)
    expect(asked).toEqual(['Server', 'Organization', 'User name', 'Token or password'])
  })

  it('asks again after an empty answer, and ends when the user cancels', async () => {
    await using server = await startGovernanceServer()
    const answers = ['', 'acme', '', 'alice']
    const secrets = ['', null]
    const asked: string[] = []
    const next = (from: (string | null)[]) => async (message: string) => {
      asked.push(message)
      return from.shift() ?? null
    }

    const result = await runCli(['login', '--server', server.url], {
      prompts: { text: next(answers), secret: next(secrets), confirm: async () => null },
    })

    expect(result).toMatchObject({ code: 1, err: 'error: cancelled\n' })
    const names = ['Organization', 'Organization', 'User name', 'User name']
    expect(asked).toEqual([...names, 'Token or password', 'Token or password'])
  })

  it.each([
    ['', 'is empty'],
    ['a\nb\n', 'more than a token'],
    ['x'.repeat(5000), 'too long'],
  ])('refuses %j on standard input as a token', async (stdin, message) => {
    await using directory = await temporaryDirectory()

    const result = await login(directory, 'http://127.0.0.1:9', { stdin })

    expect(result.code).toBe(2)
    expect(result.err).toContain(message)
  })

  it('warns when the token would cross a network in clear text', async () => {
    await using directory = await temporaryDirectory()
    const refused = async (): Promise<never> => {
      throw new TypeError('fetch failed')
    }
    const setting: CliSetting = { fetch: refused, env: { PALISADE_CONFIG_DIR: directory.path } }

    const open = await login(directory, 'http://policy.example', setting)
    const lookalike = await login(directory, 'http://127.example.com', setting)
    const closed = await login(directory, 'https://policy.example', setting)

    expect(open.err).toContain('warning: http://policy.example is not encrypted')
    expect(lookalike.err).toContain('warning')
    expect(closed.err).not.toContain('warning')
  })

  it('reports in one line that the file cannot be written', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    await directory.write('config', 'a file, not a directory')

    const result = await login(directory, server.url)

    expect(result.code).toBe(78)
    expect(result.err).toMatch(/^error: [^\n]*credentials\.json: [^\n]+\n$/)
  })
})

describe('stored credentials', () => {
  it.each([
    ['open to others', 0o644, '{}', 'chmod 600'],
    ['not JSON', 0o600, 'nonsense', 'palisade login'],
    ['incomplete', 0o600, '{"server":"http://x","org":"acme"}', 'palisade login'],
  ])('that are %s are refused with exit 78', async (_name, mode, content, message) => {
    await using directory = await temporaryDirectory()
    await directory.write('credentials.json', content)
    await chmod(join(directory.path, 'credentials.json'), mode)

    const result = await runCli(['policy', 'list'], {
      env: { PALISADE_CONFIG_DIR: directory.path },
    })

    expect(result).toMatchObject({ code: 78, out: '' })
    expect(result.err).toContain(message)
  })

  it('are not sent to another server that the environment names', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    await using other = await startGovernanceServer()
    await login(directory, server.url, { env: {}, home: directory.path })
    const home = directory.path

    const stolen = await runCli(['policy', 'list'], { home, env: { PALISADE_SERVER: other.url } })
    const meant = await runCli(['policy', 'list'], {
      home,
      env: { PALISADE_SERVER: other.url, PALISADE_TOKEN: 'pal_pat_good' },
    })

    expect(stolen.code).toBe(78)
    expect(stolen.err).toContain('set PALISADE_TOKEN too')
    expect(meant.code).toBe(0)
    expect(other.seen.filter(({ url }) => url === '/v2/auth/token')).toHaveLength(1)
  })
})

describe('palisade enrol', () => {
  it('writes files that only their owner can read', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    const setting = { env: signedIn(server), cwd: directory.path }

    const result = await runCli(['enrol', '--user', 'alice', '--out', 'machine.json'], setting)

    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).toBe(
      'enrolled dev_1 for alice; enrolment in machine.json, key in machine.json.key\n',
    )
    expect((await stat(join(directory.path, 'machine.json.key'))).mode & 0o777).toBe(0o600)
    const file = join(directory.path, 'machine.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ ...ENROLMENT, name: 'laptop' })
    const json = await runCli(['enrol', '--out', 'other.json', '--json'], setting)
    expect(JSON.parse(json.out)).toEqual({
      file: 'other.json',
      org: 'acme',
      user: null,
      device_id: 'dev_1',
    })
  })

  it('replaces no file and follows no link, and sends no request then', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    await directory.write('present.json', 'precious')
    await mkdir(join(directory.path, 'folder'))
    await symlink(join(directory.path, 'target'), join(directory.path, 'link.json'))
    const setting = { env: signedIn(server), cwd: directory.path }

    for (const out of ['present.json', 'link.json', 'folder', 'present.json/place'])
      expect(await runCli(['enrol', '--out', out], setting)).toMatchObject({ code: 78, out: '' })

    expect(await readFile(join(directory.path, 'present.json'), 'utf8')).toBe('precious')
    await expect(lstat(join(directory.path, 'target'))).rejects.toMatchObject({ code: 'ENOENT' })
    expect(server.seen).toEqual([])
  })

  it('creates a directory with mode 0700, by default where the agent looks', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer()
    const setting = { env: signedIn(server), cwd: directory.path }
    const modeOf = async (path: string) => (await stat(join(directory.path, path))).mode & 0o777

    const usual = await runCli(['enrol', '--user', 'alice'], setting)
    const chosen = await runCli(['enrol', '--out', 'new/place/machine.json'], setting)

    expect([usual.code, chosen.code]).toEqual([0, 0])
    const file = join(directory.path, '.palisade', 'agent', 'enrolment.json')
    expect(usual.out).toContain(`enrolment in ${file}`)
    for (const made of ['.palisade', '.palisade/agent', 'new', 'new/place'])
      expect(await modeOf(made)).toBe(0o700)
    expect(await modeOf('new/place/machine.json')).toBe(0o600)
  })

  it('leaves no file behind when the server refuses', async () => {
    await using directory = await temporaryDirectory()
    await using server = await startGovernanceServer(() => envelope(403, 'permission_denied'))

    const result = await runCli(['enrol', '--out', 'machine.json'], {
      env: signedIn(server),
      cwd: directory.path,
    })

    expect(result.code).toBe(1)
    await expect(stat(join(directory.path, 'machine.json'))).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })
})
